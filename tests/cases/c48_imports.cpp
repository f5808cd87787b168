// SPDX-License-Identifier: Apache-2.0
// A receiver caches its mappings of a sender's memory: c48_imports kept | control
// 20 rounds: A allocates 64 MiB at a new address and exports it, B opens it (control: and closes it), A frees it.
// Prints "process A|B PID" and, by A in each round, "free BYTES".
#include "tests/cases/case.h"

#include <sys/wait.h>
#include <unistd.h>

namespace {

constexpr int kRounds = 20;

void put(int pipe, const void* data, size_t bytes) {
    MUST_HOLD(write(pipe, data, bytes) == static_cast<ssize_t>(bytes));
}

void get(int pipe, void* data, size_t bytes) {
    MUST_HOLD(read(pipe, data, bytes) == static_cast<ssize_t>(bytes));
}

}  // namespace

CASE_FUNCTION void* sender_buffer() {
    return device_memory(64 * kMiB);
}

CASE_FUNCTION void receiver_opens(const cudaIpcMemHandle_t& handle, bool close_again) {
    void* memory = nullptr;
    MUST(cudaIpcOpenMemHandle(&memory, handle, cudaIpcMemLazyEnablePeerAccess));
    if (close_again) MUST(cudaIpcCloseMemHandle(memory));
}

int main(int argc, char** argv) {
    int to_receiver[2];
    int to_sender[2];
    MUST(pipe(to_receiver));
    MUST(pipe(to_sender));
    const pid_t receiver = fork();
    char token = 0;
    if (receiver == 0) {
        std::printf("process B %d\n", static_cast<int>(getpid()));
        std::fflush(stdout);
        for (int round = 0; round < kRounds; ++round) {
            cudaIpcMemHandle_t handle = {};
            get(to_receiver[0], &handle, sizeof handle);
            receiver_opens(handle, is_part(argc, argv, "control"));
            put(to_sender[1], &token, 1);
        }
        get(to_receiver[0], &token, 1);  // the sender has done all rounds
        return 0;
    }
    std::printf("process A %d\n", static_cast<int>(getpid()));
    void* spacer = nullptr;
    for (int round = 0; round < kRounds; ++round) {
        void* const memory = sender_buffer();
        if (spacer == nullptr) spacer = device_memory(kMiB);
        cudaIpcMemHandle_t handle = {};
        MUST(cudaIpcGetMemHandle(&handle, memory));
        put(to_receiver[1], &handle, sizeof handle);
        get(to_sender[0], &token, 1);
        MUST(cudaFree(memory));
        size_t free_bytes = 0;
        size_t total = 0;
        MUST(cudaMemGetInfo(&free_bytes, &total));
        std::printf("free %zu\n", free_bytes);
        std::fflush(stdout);
    }
    MUST(cudaFree(spacer));
    put(to_receiver[1], &token, 1);
    int status = 0;
    MUST_HOLD(waitpid(receiver, &status, 0) == receiver && status == 0);
    return 0;
}
