// SPDX-License-Identifier: Apache-2.0
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>

#include "simulated_machine.h"

namespace {

// A child of its own image that talks over a socket: exec, so that it has a driver of its own.
struct Peer {
    int socket = -1;
    pid_t child = -1;
    explicit Peer(const char* test) {
        int pair[2];
        REQUIRE(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0);
        child = fork();
        REQUIRE(child >= 0);
        if (child == 0) {
            close(pair[0]);
            setenv("VRAMTRACE_TEST_SOCKET", std::to_string(pair[1]).c_str(), 1);
            execl("/proc/self/exe", "child", test, static_cast<char*>(nullptr));
            _exit(127);
        }
        close(pair[1]);
        socket = pair[0];
    }
    // 0 if the child's test ran and passed.
    int wait() {
        char ran = 0;
        const bool said = read(socket, &ran, 1) == 1 && ran == 'r';
        close(socket);
        int status = 0;
        waitpid(child, &status, 0);
        return said ? status : -1;
    }
};

template <class Data>
void send(int socket, const Data& data) {
    REQUIRE(write(socket, &data, sizeof data) == static_cast<ssize_t>(sizeof data));
}

template <class Data>
Data receive(int socket) {
    Data data{};
    REQUIRE(read(socket, &data, sizeof data) == static_cast<ssize_t>(sizeof data));
    return data;
}

int parent_socket() {
    return std::atoi(std::getenv("VRAMTRACE_TEST_SOCKET"));
}

// Tells the parent that the hidden test ran: a name that matches nothing must not pass.
struct Ran {
    ~Ran() { send(parent_socket(), 'r'); }
};

void send_descriptor(int socket, int descriptor) {
    char byte = 'd';
    iovec part{&byte, 1};
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = control;
    message.msg_controllen = sizeof control;
    cmsghdr* header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof(int));
    std::memcpy(CMSG_DATA(header), &descriptor, sizeof descriptor);
    REQUIRE(sendmsg(socket, &message, 0) == 1);
}

int receive_descriptor(int socket) {
    char byte = 0;
    iovec part{&byte, 1};
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = control;
    message.msg_controllen = sizeof control;
    REQUIRE(recvmsg(socket, &message, 0) == 1);
    int descriptor = -1;
    std::memcpy(&descriptor, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof descriptor);
    return descriptor;
}

}  // namespace

TEST_CASE("child: opens an IPC handle", "[.]") {
    const Ran ran;
    const PrimaryContext context;
    const auto handle = receive<CUipcMemHandle>(parent_socket());
    CUdeviceptr memory = 0;
    CUdeviceptr again = 0;
    REQUIRE(cuIpcOpenMemHandle(&memory, handle, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS) == CUDA_SUCCESS);
    REQUIRE(cuIpcOpenMemHandle(&again, handle, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS) == CUDA_SUCCESS);
    CHECK(memory == again);
    CHECK(live_count(VRAMTRACE_SIM_IPC_IMPORT) == 1);
    CHECK(live_bytes(VRAMTRACE_SIM_IPC_IMPORT) == 0);
    CHECK(everything_live().back().extent_bytes == 1000);
    CHECK(used_bytes() == kContextBytes);
    char text[8] = {};
    CHECK(cuMemcpyDtoH(text, memory, 7) == CUDA_SUCCESS);
    CHECK(text == std::string("parent!"));
    CHECK(cuMemcpyHtoD(memory, "child!!", 7) == CUDA_SUCCESS);
    CHECK(cuMemFree(memory) == CUDA_ERROR_INVALID_VALUE);
    CHECK(cuIpcCloseMemHandle(memory) == CUDA_SUCCESS);
    CHECK(live_count(VRAMTRACE_SIM_IPC_IMPORT) == 1);
    CHECK(cuIpcCloseMemHandle(memory) == CUDA_SUCCESS);
    CHECK(live_count(VRAMTRACE_SIM_IPC_IMPORT) == 0);
    send(parent_socket(), 'k');
}

TEST_CASE("an IPC handle opens the same memory in another process, where it counts nothing") {
    const PrimaryContext context;
    CUdeviceptr neighbour = 0;
    CUdeviceptr memory = 0;
    REQUIRE(cuMemAlloc(&neighbour, 1000) == CUDA_SUCCESS);
    REQUIRE(cuMemAlloc(&memory, 1000) == CUDA_SUCCESS);
    REQUIRE(cuMemcpyHtoD(memory, "parent!", 7) == CUDA_SUCCESS);
    REQUIRE(cuMemcpyHtoD(neighbour, "keeps", 6) == CUDA_SUCCESS);
    CUipcMemHandle handle{};
    REQUIRE(cuIpcGetMemHandle(&handle, memory) == CUDA_SUCCESS);
    CUdeviceptr own = 0;
    CHECK(cuIpcOpenMemHandle(&own, handle, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS) == CUDA_ERROR_INVALID_CONTEXT);
    Peer peer("child: opens an IPC handle");
    send(peer.socket, handle);
    CHECK(receive<char>(peer.socket) == 'k');
    CHECK(peer.wait() == 0);
    char text[8] = {};
    CHECK(cuMemcpyDtoH(text, memory, 7) == CUDA_SUCCESS);
    CHECK(text == std::string("child!!"));
    CHECK(cuMemcpyDtoH(text, neighbour, 6) == CUDA_SUCCESS);
    CHECK(text == std::string("keeps"));
    CHECK(live_bytes(VRAMTRACE_SIM_DEVICE) == 2000);
    CHECK(cuMemFree(memory) == CUDA_SUCCESS);
    CHECK(cuMemFree(neighbour) == CUDA_SUCCESS);
    CHECK(used_bytes() == kContextBytes);
}

TEST_CASE("child: imports physical memory", "[.]") {
    const Ran ran;
    const PrimaryContext context;
    const int descriptor = receive_descriptor(parent_socket());
    CUmemGenericAllocationHandle handle = 0;
    REQUIRE(cuMemImportFromShareableHandle(&handle, reinterpret_cast<void*>(static_cast<intptr_t>(descriptor)),
                                           CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR) == CUDA_SUCCESS);
    CUdeviceptr range = 0;
    REQUIRE(cuMemAddressReserve(&range, 2 * kMiB, 0, 0, 0) == CUDA_SUCCESS);
    REQUIRE(cuMemMap(range, 2 * kMiB, 0, handle, 0) == CUDA_SUCCESS);
    CUmemAccessDesc access{{CU_MEM_LOCATION_TYPE_DEVICE, 0}, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    REQUIRE(cuMemSetAccess(range, 2 * kMiB, &access, 1) == CUDA_SUCCESS);
    unsigned char value = 0;
    CHECK(cuMemcpyDtoH(&value, range + 100, 1) == CUDA_SUCCESS);
    CHECK(value == 42);
    CHECK(live_bytes(VRAMTRACE_SIM_PHYSICAL_IMPORTED) == 0);
    CHECK(live_count(VRAMTRACE_SIM_PHYSICAL_IMPORTED) == 1);
    CHECK(used_bytes() == kContextBytes);
    CHECK(cuMemUnmap(range, 2 * kMiB) == CUDA_SUCCESS);
    CHECK(cuMemRelease(handle) == CUDA_SUCCESS);
    CHECK(live_count(VRAMTRACE_SIM_PHYSICAL_IMPORTED) == 0);
}

TEST_CASE("physical memory crosses processes by descriptor") {
    const PrimaryContext context;
    const auto properties = on_device(0, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);
    CUmemGenericAllocationHandle handle = 0;
    REQUIRE(cuMemCreate(&handle, 2 * kMiB, &properties, 0) == CUDA_SUCCESS);
    CUdeviceptr range = 0;
    REQUIRE(cuMemAddressReserve(&range, 2 * kMiB, 0, 0, 0) == CUDA_SUCCESS);
    REQUIRE(cuMemMap(range, 2 * kMiB, 0, handle, 0) == CUDA_SUCCESS);
    CUmemAccessDesc access{{CU_MEM_LOCATION_TYPE_DEVICE, 0}, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    REQUIRE(cuMemSetAccess(range, 2 * kMiB, &access, 1) == CUDA_SUCCESS);
    REQUIRE(cuMemsetD8(range, 42, 2 * kMiB) == CUDA_SUCCESS);
    int descriptor = -1;
    REQUIRE(cuMemExportToShareableHandle(&descriptor, handle, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0) ==
            CUDA_SUCCESS);
    Peer peer("child: imports physical memory");
    send_descriptor(peer.socket, descriptor);
    CHECK(peer.wait() == 0);
    close(descriptor);
    CHECK(cuMemUnmap(range, 2 * kMiB) == CUDA_SUCCESS);
    CHECK(cuMemRelease(handle) == CUDA_SUCCESS);
    CHECK(cuMemAddressFree(range, 2 * kMiB) == CUDA_SUCCESS);
}

TEST_CASE("child: imports a pool's pointer", "[.]") {
    const Ran ran;
    const PrimaryContext context;
    const int descriptor = receive_descriptor(parent_socket());
    CUmemoryPool pool = nullptr;
    REQUIRE(cuMemPoolImportFromShareableHandle(&pool, reinterpret_cast<void*>(static_cast<intptr_t>(descriptor)),
                                               CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0) == CUDA_SUCCESS);
    auto data = receive<CUmemPoolPtrExportData>(parent_socket());
    CUdeviceptr memory = 0;
    REQUIRE(cuMemPoolImportPointer(&memory, pool, &data) == CUDA_SUCCESS);
    unsigned char value = 0;
    CHECK(cuMemcpyDtoH(&value, memory + 4999, 1) == CUDA_SUCCESS);
    CHECK(value == 3);
    CHECK(live_bytes(VRAMTRACE_SIM_POOL_IMPORT) == 0);
    CHECK(live_count(VRAMTRACE_SIM_POOL_IMPORT) == 1);
    CUdeviceptr refused = 0;
    CHECK(cuMemAllocFromPoolAsync(&refused, 10, pool, nullptr) == CUDA_ERROR_INVALID_VALUE);
    CHECK(cuMemFreeAsync(memory, nullptr) == CUDA_SUCCESS);
    CHECK(live_count(VRAMTRACE_SIM_POOL_IMPORT) == 0);
    CHECK(cuMemPoolDestroy(pool) == CUDA_SUCCESS);
    CHECK(live_count(VRAMTRACE_SIM_POOL) == 0);
}

TEST_CASE("a pool's pointer crosses processes") {
    const PrimaryContext context;
    CUmemPoolProps properties{};
    properties.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
    properties.handleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
    properties.location = {CU_MEM_LOCATION_TYPE_DEVICE, 0};
    CUmemoryPool pool = nullptr;
    REQUIRE(cuMemPoolCreate(&pool, &properties) == CUDA_SUCCESS);
    CUdeviceptr memory = 0;
    REQUIRE(cuMemAllocFromPoolAsync(&memory, 5000, pool, nullptr) == CUDA_SUCCESS);
    REQUIRE(cuMemsetD8(memory, 3, 5000) == CUDA_SUCCESS);
    int descriptor = -1;
    REQUIRE(cuMemPoolExportToShareableHandle(&descriptor, pool, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0) ==
            CUDA_SUCCESS);
    CUmemPoolPtrExportData data{};
    REQUIRE(cuMemPoolExportPointer(&data, memory) == CUDA_SUCCESS);
    Peer peer("child: imports a pool's pointer");
    send_descriptor(peer.socket, descriptor);
    send(peer.socket, data);
    CHECK(peer.wait() == 0);
    close(descriptor);
    CHECK(cuMemFreeAsync(memory, nullptr) == CUDA_SUCCESS);
    CHECK(cuMemPoolDestroy(pool) == CUDA_SUCCESS);
    CHECK(used_bytes() == kContextBytes);
}

TEST_CASE("external memory counts nothing; its buffer is freed by itself and outlives the import") {
    const PrimaryContext context;
    const int descriptor = memfd_create("external", MFD_CLOEXEC);
    REQUIRE(ftruncate(descriptor, 1 << 20) == 0);
    REQUIRE(pwrite(descriptor, "outside", 7, 4096) == 7);
    CUDA_EXTERNAL_MEMORY_HANDLE_DESC import{};
    import.type = CU_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD;
    import.handle.fd = descriptor;
    import.size = 1 << 20;
    CUexternalMemory memory = nullptr;
    REQUIRE(cuImportExternalMemory(&memory, &import) == CUDA_SUCCESS);
    CUDA_EXTERNAL_MEMORY_BUFFER_DESC part{};
    part.offset = 4096;
    part.size = 100;
    CUdeviceptr buffer = 0;
    REQUIRE(cuExternalMemoryGetMappedBuffer(&buffer, memory, &part) == CUDA_SUCCESS);
    CUDA_EXTERNAL_MEMORY_MIPMAPPED_ARRAY_DESC shape{};
    shape.arrayDesc = {16, 16, 0, CU_AD_FORMAT_UNSIGNED_INT8, 1, 0};
    shape.numLevels = 2;
    CUmipmappedArray mipmap = nullptr;
    REQUIRE(cuExternalMemoryGetMappedMipmappedArray(&mipmap, memory, &shape) == CUDA_SUCCESS);
    CHECK(live_count(VRAMTRACE_SIM_EXTERNAL_BUFFER) == 1);
    CHECK(live_count(VRAMTRACE_SIM_EXTERNAL_MIPMAP) == 1);
    CHECK(live_bytes(VRAMTRACE_SIM_DEVICE_TOTAL) == 0);
    CHECK(used_bytes() == kContextBytes);
    CHECK(cuDestroyExternalMemory(memory) == CUDA_SUCCESS);
    char text[8] = {};
    CHECK(cuMemcpyDtoH(text, buffer, 7) == CUDA_SUCCESS);
    CHECK(text == std::string("outside"));
    CHECK(cuMemFree(buffer) == CUDA_SUCCESS);
    CHECK(cuMipmappedArrayDestroy(mipmap) == CUDA_SUCCESS);
    CHECK(live_count(VRAMTRACE_SIM_EXTERNAL_BUFFER) == 0);
    CHECK(live_count(VRAMTRACE_SIM_EXTERNAL_MIPMAP) == 0);
}
