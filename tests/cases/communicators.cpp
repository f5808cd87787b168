// SPDX-License-Identifier: Apache-2.0
// Built as libnccl.so.2, for that is how the report knows whose memory it is. Not NCCL: it sends nothing.
#include "tests/cases/communicators.h"

#include "tests/cases/case.h"

struct stand_in_communicator {
    int device;
    void* channels;
    void* proxy;
};

namespace {

void* rest_ = nullptr;  // made with the first communicator, kept for all

}  // namespace

stand_in_communicator* stand_in_create_communicator(int device) {
    MUST(cudaSetDevice(device));
    if (rest_ == nullptr) rest_ = device_memory(50 * kMiB);
    auto* const made = new stand_in_communicator{device, device_memory(48 * kMiB), nullptr};
    MUST(cudaHostAlloc(&made->proxy, 2 * kMiB, cudaHostAllocDefault));
    return made;
}

void stand_in_destroy_communicator(stand_in_communicator* communicator) {
    MUST(cudaFree(communicator->channels));
    MUST(cudaFreeHost(communicator->proxy));
    delete communicator;
}
