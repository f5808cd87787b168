// SPDX-License-Identifier: Apache-2.0
#include <cstddef>
#include <cstdint>

// The simulated management library (libnvidia-ml.so.1): what frameworks ask it beside CUDA, in the words of the public
// nvml.h. PyTorch asks before it makes memory that other nodes could map, and for the processes on a device when it writes
// the message of an out-of-memory. There is a device per number, no fabric between them, and nobody on them.
namespace {

using Return = int;
constexpr Return kSuccess = 0;
constexpr Return kInvalidArgument = 2;
constexpr Return kNotSupported = 3;

using Device = void*;

// nvmlGpuFabricInfoV_t up to what is answered.
struct FabricInfo {
    uint32_t version;
    uint8_t cluster[16];
    Return status;
    uint32_t clique;
    uint8_t state;
};
static_assert(offsetof(FabricInfo, state) == 28);
constexpr uint8_t kFabricNotSupported = 0;

Device device_numbered(uint32_t number) {
    return reinterpret_cast<Device>(static_cast<uintptr_t>(number) + 1);
}

}  // namespace

#define EXPORTED extern "C" [[gnu::visibility("default")]]

EXPORTED Return nvmlInit_v2() {
    return kSuccess;
}

EXPORTED Return nvmlShutdown() {
    return kSuccess;
}

// "0000:17:00.0": the simulated devices are told apart by the bus (driver/device_attributes.cpp), which is all a handle
// needs.
EXPORTED Return nvmlDeviceGetHandleByPciBusId_v2(const char* bus_id, Device* device) {
    if (bus_id == nullptr || device == nullptr) return kInvalidArgument;
    uint32_t number = 0;
    for (; *bus_id != '\0'; ++bus_id) number = number * 31 + static_cast<unsigned char>(*bus_id);
    *device = device_numbered(number);
    return kSuccess;
}

EXPORTED Return nvmlDeviceGetHandleByIndex_v2(unsigned index, Device* device) {
    if (device == nullptr) return kInvalidArgument;
    *device = device_numbered(index);
    return kSuccess;
}

EXPORTED Return nvmlDeviceGetComputeRunningProcesses(Device, unsigned* count, void*) {
    if (count == nullptr) return kInvalidArgument;
    *count = 0;
    return kSuccess;
}

EXPORTED Return nvmlDeviceGetGpuFabricInfoV(Device, FabricInfo* info) {
    if (info == nullptr) return kInvalidArgument;
    info->status = kSuccess;
    info->clique = 0;
    info->state = kFabricNotSupported;
    return kSuccess;
}

EXPORTED Return nvmlSystemGetCudaDriverVersion_v2(int*) {
    return kNotSupported;
}

EXPORTED Return nvmlDeviceGetNvLinkRemoteDeviceType(Device, unsigned, void*) {
    return kNotSupported;
}

EXPORTED Return nvmlDeviceGetNvLinkRemotePciInfo_v2(Device, unsigned, void*) {
    return kNotSupported;
}
