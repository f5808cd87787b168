// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <map>
#include <mutex>
#include <vector>

// THE LINKAGE OF TENSORFLOW'S ALLOCATOR, and no more of it: a class of the same name with virtual functions of the same
// names, in a library that is loaded RTLD_LOCAL and looks CUDA up by dlsym. What it does inside is a first-fit allocator
// of our own. BFC_NAMESPACE is tsl or tensorflow.
namespace BFC_NAMESPACE {

struct AllocationAttributes {
    bool retry_on_failure = true;
    bool allocation_will_be_logged = false;
    void* freed_by_func = nullptr;
};

class Allocator {
public:
    virtual ~Allocator() = default;
    virtual void* AllocateRaw(size_t alignment, size_t bytes) = 0;
    virtual void* AllocateRaw(size_t alignment, size_t bytes, const AllocationAttributes& attributes) = 0;
    virtual void DeallocateRaw(void* block) = 0;
    virtual size_t AllocatedSize(const void* block) const = 0;
};

enum class Memory { Device, PinnedHost };

class BFCAllocator : public Allocator {
public:
    BFCAllocator(Memory memory, size_t limit) : memory_(memory), limit_(limit) {}
    ~BFCAllocator() override;
    // In the class, and so in every object that uses it, as in TensorFlow.
    void* AllocateRaw(size_t alignment, size_t bytes) override {
        return AllocateRaw(alignment, bytes, AllocationAttributes());
    }
    void* AllocateRaw(size_t alignment, size_t bytes, const AllocationAttributes& attributes) override;
    void DeallocateRaw(void* block) override;
    size_t AllocatedSize(const void* block) const override;

private:
    struct Chunk {
        size_t bytes;
        bool used;
    };
    char* find_chunk(size_t bytes);
    bool add_region(size_t bytes);

    const Memory memory_;
    const size_t limit_;
    size_t reserved_ = 0;
    mutable std::mutex mutex_;
    std::map<char*, Chunk> chunks_;
    std::vector<void*> regions_;
};

// As TensorFlow's: another vtable with the same functions in it.
class GPUBFCAllocator : public BFCAllocator {
public:
    explicit GPUBFCAllocator(size_t limit) : BFCAllocator(Memory::Device, limit) {}
};

}  // namespace BFC_NAMESPACE
