// SPDX-License-Identifier: Apache-2.0
// A job on the imitated allocator: bfc_job LIBRARY MODE. Prints what it does with blocks, line by line:
//   alloc POOL ADDRESS BYTES     BYTES as the allocator counts them
//   free POOL ADDRESS
//   oom POOL BYTES
#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <thread>
#include <vector>

#include "tests/frameworks/imitation/bfc_allocator.h"

using BFC_NAMESPACE::AllocationAttributes;
using BFC_NAMESPACE::Allocator;

namespace {

constexpr size_t kLimit = size_t{32} << 20;

struct Pool {
    const char* name;
    Allocator* allocator;

    void* take(size_t bytes) const {
        void* block = allocator->AllocateRaw(64, bytes);
        if (block != nullptr)
            std::printf("alloc %s %zu %zu\n", name, reinterpret_cast<size_t>(block), allocator->AllocatedSize(block));
        return block;
    }
    void give(void* block) const {
        std::printf("free %s %zu\n", name, reinterpret_cast<size_t>(block));
        allocator->DeallocateRaw(block);
    }
};

void simple(const Pool& pool) {
    std::vector<void*> kept;
    for (const size_t bytes : {1U, 256U, 257U, 100000U, 3000000U}) kept.push_back(pool.take(bytes));
    pool.give(kept[4]);
    pool.give(kept[2]);
    kept[2] = pool.take(200);       // a hole, reused
    kept[4] = pool.take(9U << 20);  // a region of its own
    AllocationAttributes at_once;
    at_once.retry_on_failure = false;
    void* block = pool.allocator->AllocateRaw(64, 5000, at_once);
    std::printf("alloc %s %zu %zu\n", pool.name, reinterpret_cast<size_t>(block), pool.allocator->AllocatedSize(block));
    pool.allocator->DeallocateRaw(nullptr);
    pool.give(block);
}

void failures(const Pool& pool) {
    if (pool.take(0) != nullptr) std::abort();
    AllocationAttributes at_once;
    at_once.retry_on_failure = false;
    if (pool.allocator->AllocateRaw(64, 2 * kLimit, at_once) != nullptr) std::abort();
    if (pool.take(3 * kLimit) != nullptr) std::abort();
    std::printf("oom %s %zu\n", pool.name, 3 * kLimit);
    if (pool.allocator->AllocateRaw(64, 4 * kLimit, AllocationAttributes()) != nullptr) std::abort();
    std::printf("oom %s %zu\n", pool.name, 4 * kLimit);
    for (int i = 0; i < 3; ++i) {
        try {
            pool.take(SIZE_MAX);
            std::abort();
        } catch (const std::length_error&) {
            pool.give(pool.take(1000));
        }
    }
}

void churn(const Pool& pool) {
    for (int i = 0; i < 5000; ++i) {
        void* block = pool.allocator->AllocateRaw(64, 512);
        void* other = pool.allocator->AllocateRaw(64, 512);
        if (block == nullptr || other == nullptr) std::abort();
        pool.allocator->DeallocateRaw(block);
        pool.allocator->DeallocateRaw(other);
    }
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 3) return 2;
    void* driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    void* library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
    if (driver == nullptr || library == nullptr) {
        std::printf("FAIL %s\n", dlerror());
        return 1;
    }
    void* context = nullptr;
    reinterpret_cast<int (*)(unsigned)>(dlsym(driver, "cuInit"))(0);
    reinterpret_cast<int (*)(void**, int)>(dlsym(driver, "cuDevicePrimaryCtxRetain"))(&context, 0);
    const auto set_current = reinterpret_cast<int (*)(void*)>(dlsym(driver, "cuCtxSetCurrent"));
    set_current(context);
    using Make = Allocator* (*)(size_t);
    const Pool gpu = {"gpu", reinterpret_cast<Make>(dlsym(library, "make_gpu_allocator"))(kLimit)};
    const Pool host = {"host", reinterpret_cast<Make>(dlsym(library, "make_host_allocator"))(kLimit)};
    const char* mode = argv[2];
    if (std::strcmp(mode, "threads") == 0) {
        std::vector<std::thread> threads;
        for (int i = 0; i < 4; ++i) {
            threads.emplace_back([&] {
                set_current(context);
                churn(gpu);
            });
        }
        for (auto& thread : threads) thread.join();
        return 0;
    }
    if (std::strcmp(mode, "fork") == 0) {
        void* block = gpu.take(1000);
        std::fflush(stdout);
        const pid_t child = fork();
        if (child == 0) {
            gpu.allocator->DeallocateRaw(block);  // what a destructor in a child of fork does
            _exit(0);
        }
        int status = 0;
        waitpid(child, &status, 0);
        gpu.give(block);
        return status;
    }
    for (const Pool& pool : {gpu, host}) {
        simple(pool);
        failures(pool);
    }
    delete gpu.allocator;  // its regions go with blocks in them
    return 0;
}
