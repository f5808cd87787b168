// SPDX-License-Identifier: Apache-2.0
#include "tests/frameworks/imitation/bfc_allocator.h"

#include <dlfcn.h>

#include <algorithm>
#include <cstdint>
#include <stdexcept>

namespace {

constexpr size_t kRound = 256;
constexpr size_t kRegion = size_t{8} << 20;

template <typename Function>
Function* driver_function(const char* name) {
    static void* driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    return reinterpret_cast<Function*>(dlsym(driver, name));
}

}  // namespace

namespace BFC_NAMESPACE {

BFCAllocator::~BFCAllocator() {
    for (void* region : regions_) {
        if (memory_ == Memory::Device) {
            driver_function<int(uintptr_t)>("cuMemFree_v2")(reinterpret_cast<uintptr_t>(region));
        } else {
            driver_function<int(void*)>("cuMemFreeHost")(region);
        }
    }
}

bool BFCAllocator::add_region(size_t bytes) {
    bytes = std::max(bytes, kRegion);
    if (reserved_ + bytes > limit_) return false;
    void* region = nullptr;
    const int result = memory_ == Memory::Device
                           ? driver_function<int(void**, size_t)>("cuMemAlloc_v2")(&region, bytes)
                           : driver_function<int(void**, size_t, unsigned)>("cuMemHostAlloc")(&region, bytes, 1);
    if (result != 0) return false;
    reserved_ += bytes;
    regions_.push_back(region);
    chunks_[static_cast<char*>(region)] = {bytes, false};
    return true;
}

// A chunk of less than twice the request is handed out whole.
char* BFCAllocator::find_chunk(size_t bytes) {
    for (auto& [at, chunk] : chunks_) {
        if (chunk.used || chunk.bytes < bytes) continue;
        if (chunk.bytes >= 2 * bytes) {
            chunks_[at + bytes] = {chunk.bytes - bytes, false};
            chunk.bytes = bytes;
        }
        chunk.used = true;
        return at;
    }
    return nullptr;
}

void* BFCAllocator::AllocateRaw(size_t, size_t bytes, const AllocationAttributes&) {
    if (bytes == 0) return nullptr;
    if (bytes == SIZE_MAX) throw std::length_error("no such block");
    const size_t rounded = (bytes + kRound - 1) / kRound * kRound;
    const std::lock_guard lock(mutex_);
    if (char* block = find_chunk(rounded)) return block;
    return add_region(rounded) ? find_chunk(rounded) : nullptr;
}

void BFCAllocator::DeallocateRaw(void* block) {
    if (block == nullptr) return;
    const std::lock_guard lock(mutex_);
    chunks_.at(static_cast<char*>(block)).used = false;
}

size_t BFCAllocator::AllocatedSize(const void* block) const {
    const std::lock_guard lock(mutex_);
    return chunks_.at(const_cast<char*>(static_cast<const char*>(block))).bytes;
}

}  // namespace BFC_NAMESPACE

extern "C" {
BFC_NAMESPACE::Allocator* make_gpu_allocator(size_t limit) {
    return new BFC_NAMESPACE::GPUBFCAllocator(limit);
}
BFC_NAMESPACE::Allocator* make_host_allocator(size_t limit) {
    return new BFC_NAMESPACE::BFCAllocator(BFC_NAMESPACE::Memory::PinnedHost, limit);
}
const char* TF_Version() {
    return "2.99.0";
}
}
