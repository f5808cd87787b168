// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdio>
#include <cstring>

#include "simulator/driver/contexts.h"
#include "simulator/driver/device_attributes.h"

using namespace vramtrace::simulator;

namespace {

// "0000:17:00.0" for device 0; the bus number tells devices apart.
std::string pci_name(int ordinal) {
    char text[16];
    std::snprintf(text, sizeof text, "0000:%02x:00.0", (0x17 + ordinal) & 0xff);
    return text;
}

void copy_text(char* out, int capacity, const std::string& text) {
    require(out != nullptr && capacity > 0);
    const size_t length = std::min(text.size(), static_cast<size_t>(capacity) - 1);
    std::memcpy(out, text.data(), length);
    out[length] = '\0';
}

CUresult get_uuid(CUuuid* uuid, CUdevice dev) {
    require(uuid != nullptr);
    std::memcpy(uuid->bytes, device_of(dev).uuid.data(), sizeof uuid->bytes);
    return CUDA_SUCCESS;
}

}  // namespace

SIM_API_ALWAYS(cuInit, (unsigned int Flags), (Flags)) {
    require(Flags == 0);
    Machine& machine = Machine::get();
    require(machine.phase() != Machine::Phase::kShutDown, CUDA_ERROR_DEINITIALIZED);
    require(machine.phase() != Machine::Phase::kForked, CUDA_ERROR_NOT_INITIALIZED);
    require(!machine.devices.empty(), CUDA_ERROR_NO_DEVICE);
    machine.start();
    return CUDA_SUCCESS;
}

SIM_API_ALWAYS(cuDriverGetVersion, (int* driverVersion), (driverVersion)) {
    require(driverVersion != nullptr);
    *driverVersion = Machine::get().settings.driver_version;
    return CUDA_SUCCESS;
}

SIM_API(cuDeviceGet, (CUdevice * device, int ordinal), (device, ordinal)) {
    require(device != nullptr);
    *device = device_of(ordinal).ordinal;
    return CUDA_SUCCESS;
}

SIM_API(cuDeviceGetCount, (int* count), (count)) {
    require(count != nullptr);
    *count = static_cast<int>(Machine::get().devices.size());
    return CUDA_SUCCESS;
}

SIM_API(cuDeviceGetName, (char* name, int len, CUdevice dev), (name, len, dev)) {
    copy_text(name, len, device_of(dev).name);
    return CUDA_SUCCESS;
}

SIM_API(cuDeviceGetUuid, (CUuuid * uuid, CUdevice dev), (uuid, dev)) {
    return get_uuid(uuid, dev);
}

SIM_API(cuDeviceGetUuid_v2, (CUuuid * uuid, CUdevice dev), (uuid, dev)) {
    return get_uuid(uuid, dev);
}

SIM_API(cuDeviceGetLuid, (char* luid, unsigned int* deviceNodeMask, CUdevice dev), (luid, deviceNodeMask, dev)) {
    return CUDA_ERROR_NOT_SUPPORTED;  // Windows only
}

SIM_API(cuDeviceTotalMem_v2, (size_t * bytes, CUdevice dev), (bytes, dev)) {
    require(bytes != nullptr);
    *bytes = device_of(dev).memory.total();
    return CUDA_SUCCESS;
}

SIM_API(cuDeviceTotalMem, (unsigned int* bytes, CUdevice dev), (bytes, dev)) {
    require(bytes != nullptr);
    *bytes = static_cast<unsigned int>(std::min<uint64_t>(device_of(dev).memory.total(), UINT32_MAX));
    return CUDA_SUCCESS;
}

SIM_API(cuDeviceGetAttribute, (int* pi, CUdevice_attribute attrib, CUdevice dev), (pi, attrib, dev)) {
    require(pi != nullptr && attrib > 0 && attrib < CU_DEVICE_ATTRIBUTE_MAX);
    *pi = device_attribute(device_of(dev), attrib);
    return CUDA_SUCCESS;
}

SIM_API(cuDeviceComputeCapability, (int* major, int* minor, CUdevice dev), (major, minor, dev)) {
    require(major != nullptr && minor != nullptr);
    *major = device_attribute(device_of(dev), CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
    *minor = device_attribute(device_of(dev), CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
    return CUDA_SUCCESS;
}

SIM_API(cuDeviceGetProperties, (CUdevprop * prop, CUdevice dev), (prop, dev)) {
    require(prop != nullptr);
    const Device& device = device_of(dev);
    const auto value = [&](CUdevice_attribute attribute) { return device_attribute(device, attribute); };
    prop->maxThreadsPerBlock = value(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
    prop->maxThreadsDim[0] = value(CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X);
    prop->maxThreadsDim[1] = value(CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y);
    prop->maxThreadsDim[2] = value(CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z);
    prop->maxGridSize[0] = value(CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X);
    prop->maxGridSize[1] = value(CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y);
    prop->maxGridSize[2] = value(CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z);
    prop->sharedMemPerBlock = value(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK);
    prop->totalConstantMemory = value(CU_DEVICE_ATTRIBUTE_TOTAL_CONSTANT_MEMORY);
    prop->SIMDWidth = value(CU_DEVICE_ATTRIBUTE_WARP_SIZE);
    prop->memPitch = value(CU_DEVICE_ATTRIBUTE_MAX_PITCH);
    prop->regsPerBlock = value(CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK);
    prop->clockRate = value(CU_DEVICE_ATTRIBUTE_CLOCK_RATE);
    prop->textureAlign = value(CU_DEVICE_ATTRIBUTE_TEXTURE_ALIGNMENT);
    return CUDA_SUCCESS;
}

SIM_API(cuDeviceGetTexture1DLinearMaxWidth,
        (size_t * maxWidthInElements, CUarray_format format, unsigned numChannels, CUdevice dev),
        (maxWidthInElements, format, numChannels, dev)) {
    require(maxWidthInElements != nullptr);
    *maxWidthInElements =
        static_cast<size_t>(device_attribute(device_of(dev), CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE1D_LINEAR_WIDTH));
    return CUDA_SUCCESS;
}

SIM_API(cuDeviceGetPCIBusId, (char* pciBusId, int len, CUdevice dev), (pciBusId, len, dev)) {
    copy_text(pciBusId, len, pci_name(device_of(dev).ordinal));
    return CUDA_SUCCESS;
}

SIM_API(cuDeviceGetByPCIBusId, (CUdevice * dev, const char* pciBusId), (dev, pciBusId)) {
    require(dev != nullptr && pciBusId != nullptr);
    for (const auto& device : Machine::get().devices) {
        const std::string name = pci_name(device->ordinal);
        // The domain and the function may be left out.
        if (name == pciBusId || name.substr(5) == pciBusId || name.substr(5, 5) == pciBusId ||
            name.substr(0, 10) == pciBusId) {
            *dev = device->ordinal;
            return CUDA_SUCCESS;
        }
    }
    return CUDA_ERROR_INVALID_DEVICE;
}

SIM_API(cuDeviceGetExecAffinitySupport, (int* pi, CUexecAffinityType type, CUdevice dev), (pi, type, dev)) {
    require(pi != nullptr && type < CU_EXEC_AFFINITY_TYPE_MAX);
    device_of(dev);
    *pi = 0;
    return CUDA_SUCCESS;
}

SIM_API(cuDeviceCanAccessPeer, (int* canAccessPeer, CUdevice dev, CUdevice peerDev), (canAccessPeer, dev, peerDev)) {
    require(canAccessPeer != nullptr);
    *canAccessPeer = &device_of(dev) != &device_of(peerDev) ? 1 : 0;
    return CUDA_SUCCESS;
}

SIM_API(cuDeviceGetP2PAttribute, (int* value, CUdevice_P2PAttribute attrib, CUdevice srcDevice, CUdevice dstDevice),
        (value, attrib, srcDevice, dstDevice)) {
    require(value != nullptr && attrib >= CU_DEVICE_P2P_ATTRIBUTE_PERFORMANCE_RANK);
    require(&device_of(srcDevice) != &device_of(dstDevice), CUDA_ERROR_INVALID_DEVICE);
    *value = attrib == CU_DEVICE_P2P_ATTRIBUTE_PERFORMANCE_RANK ? 0 : 1;
    return CUDA_SUCCESS;
}

SIM_API(cuFlushGPUDirectRDMAWrites, (CUflushGPUDirectRDMAWritesTarget target, CUflushGPUDirectRDMAWritesScope scope),
        (target, scope)) {
    current_context();
    return CUDA_SUCCESS;
}
