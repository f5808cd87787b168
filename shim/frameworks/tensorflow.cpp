// SPDX-License-Identifier: Apache-2.0
#include "shim/frameworks/tensorflow.h"

#include <string.h>

#include <atomic>
#include <initializer_list>

#include "shim/frameworks/framework_hook.h"
#include "shim/real/elf_symbols.h"
#include "shim/real/link_scope.h"
#include "shim/record/recorder.h"
#include "shim/thread_state.h"
#include "trace/ring/system_calls.h"

// The allocator's virtual functions are exported, and its vtables name them by symbol relocations: exported from a
// preload, the same names take their place in every vtable.
//
//   caller ── vtable ── AllocateRaw(alignment, bytes)              ours: nothing to say, the one below has said it
//                         └─ vtable ── AllocateRaw(…, attributes)  ours: BlockAlloc after the real one
//   caller ── vtable ── DeallocateRaw(block)                       ours: BlockFree, then a jump to the real one
//
// None of them is called under the allocator's lock, so the order is ours to keep: a free is recorded before the real
// call, an allocation after it. Nothing is held across a real call: an exception may pass through our frames, which have
// unwind information and nothing to undo.
namespace vramtrace::shim {

namespace {

using trace::Event;
using trace::EventKind;

enum class Method : unsigned { AllocateRaw, AllocateRawAttributes, DeallocateRaw, AllocatedSize, Count };

// What differs between the namespaces: TensorFlow 2.11 moved the class.
struct BfcAllocator {
    unsigned first_link;  // one number a method
    const char* symbols[static_cast<unsigned>(Method::Count)];
    const char* vtable;
    FrameworkFunction allocates, frees;
};
constexpr BfcAllocator kTsl = {
    kTensorFlowLinks,
    {"_ZN3tsl12BFCAllocator11AllocateRawEmm", "_ZN3tsl12BFCAllocator11AllocateRawEmmRKNS_20AllocationAttributesE",
     "_ZN3tsl12BFCAllocator13DeallocateRawEPv", "_ZNK3tsl12BFCAllocator13AllocatedSizeEPKv"},
    "_ZTVN3tsl12BFCAllocatorE",
    FrameworkFunction::TslAllocate,
    FrameworkFunction::TslDeallocate};
constexpr BfcAllocator kTensorflow = {
    kTensorFlowLinks + static_cast<unsigned>(Method::Count),
    {"_ZN10tensorflow12BFCAllocator11AllocateRawEmm",
     "_ZN10tensorflow12BFCAllocator11AllocateRawEmmRKNS_20AllocationAttributesE",
     "_ZN10tensorflow12BFCAllocator13DeallocateRawEPv", "_ZNK10tensorflow12BFCAllocator13AllocatedSizeEPKv"},
    "_ZTVN10tensorflow12BFCAllocatorE",
    FrameworkFunction::TensorFlowAllocate,
    FrameworkFunction::TensorFlowDeallocate};

// What this thread said last: a call that forwards to another of ours must not say it again. Never wrong for long: it only
// silences an allocation of the very block that was told of during the call.
struct BfcThread {
    uint64_t serial;
    const void* block;
};
[[gnu::tls_model("initial-exec")]] thread_local constinit BfcThread bfc_thread{};

const void* vtable_of(const void* self) {
    return *static_cast<const void* const*>(self);
}

// The real function, as the object that holds the allocator's vtable would have been bound without us: several copies of
// TensorFlow may live in one process.
template <typename Function>
Function* real_method(const BfcAllocator& allocator, Method method, const void* self) {
    const trace::KeepErrno keep_errno;
    const auto place = static_cast<unsigned>(method);
    return linked<Function>(allocator.first_link + place, allocator.symbols[place], vtable_of(self));
}

// Bytes of the block as the allocator counts them: it hands out up to twice of what was asked for. No lock of its is held
// here, and nobody else knows the block yet.
size_t block_bytes(const BfcAllocator& allocator, const void* self, const void* block, size_t asked) {
    auto* allocated_size = real_method<size_t(const void*, const void*)>(allocator, Method::AllocatedSize, self);
    return allocated_size != nullptr ? allocated_size(self, block) : asked;
}

// One Fact: "key\0value".
class FactText {
public:
    explicit FactText(const char* key) {
        add(key);
        ++bytes_;  // its NUL
    }
    void add(const char* part) {
        const size_t bytes = strnlen(part, sizeof text_ - bytes_);
        memcpy(text_ + bytes_, part, bytes);
        bytes_ += bytes;
    }
    void publish() const { define(trace::DefinitionKind::Fact, text_, static_cast<uint32_t>(bytes_)); }

private:
    char text_[1024] = {};
    size_t bytes_ = 0;
};

// Which TensorFlow, once a process: after a block of it was recorded there is a trace to tell it in.
constinit std::atomic<uint32_t> told_in{0};

[[gnu::cold, gnu::noinline]] void tell_framework(const void* vtable) {
    const trace::KeepErrno keep_errno;
    FactText path(trace::fact::kFrameworkPath);
    const char* (*version)() = nullptr;
    with_loaded_objects([&](const LoadedObjects& all) {
        if (const LoadedObject* holder = all.containing(vtable)) path.add(holder->path);
        for (const auto& object : all)
            if (version == nullptr)
                version = reinterpret_cast<const char* (*)()>(DynamicTables(object).find("TF_Version"));
    });
    path.publish();
    FactText framework(trace::fact::kFramework);
    framework.add("TensorFlow");
    if (version != nullptr) {
        framework.add(" ");
        framework.add(version());  // a constant of its
    }
    framework.publish();
}

void said(const void* self, const void* block) {
    ++bfc_thread.serial;
    bfc_thread.block = block;
    const uint32_t instance = thread_state.instance;  // of this process: an event was just recorded
    if (told_in.load(std::memory_order_relaxed) == instance) return;
    if (told_in.exchange(instance, std::memory_order_relaxed) != instance) tell_framework(vtable_of(self));
}

// `may_wait`: the caller has not asked for an answer at once. One who has takes a null for "not now" and goes another way
// (a convolution that looks for a smaller workspace): nothing has failed. Nor is there anything in 0 bytes.
void allocated(const BfcAllocator& allocator, const void* self, const void* block, size_t bytes, bool may_wait,
               uint64_t serial) {
    const bool said_below = bfc_thread.serial != serial && bfc_thread.block == block;
    if (said_below || (block == nullptr && (bytes == 0 || !may_wait))) return;
    Event event;
    event.kind = block != nullptr ? EventKind::BlockAlloc : EventKind::FrameworkOutOfMemory;
    event.address = reinterpret_cast<uintptr_t>(block);
    event.size = block != nullptr ? block_bytes(allocator, self, block, bytes) : bytes;
    report_block(event, allocator.allocates);
    said(self, block);
}

template <typename... Attributes>
[[gnu::always_inline]] inline void* allocate(const BfcAllocator& allocator, Method method, void* self, size_t alignment,
                                             size_t bytes, bool may_wait, Attributes... attributes) {
    auto* real = real_method<void*(void*, size_t, size_t, Attributes...)>(allocator, method, self);
    if (real == nullptr) return nullptr;
    const uint64_t serial = bfc_thread.serial;
    void* block = real(self, alignment, bytes, attributes...);
    if (blocks_are_recorded()) allocated(allocator, self, block, bytes, may_wait, serial);
    return block;
}

[[gnu::always_inline]] inline void deallocate(const BfcAllocator& allocator, void* self, void* block) {
    auto* real = real_method<void(void*, void*)>(allocator, Method::DeallocateRaw, self);
    if (block != nullptr && blocks_are_recorded()) {
        Event event;
        event.kind = EventKind::BlockFree;
        event.address = reinterpret_cast<uintptr_t>(block);
        report_block(event, allocator.frees);
        said(self, nullptr);
    }
    if (real != nullptr) real(self, block);
}

// AllocationAttributes begins with `bool retry_on_failure` (true unless the caller says otherwise).
bool retries(const void* attributes) {
    return *static_cast<const unsigned char*>(attributes) != 0;
}

constexpr unsigned kLooks = 1U << 16;
constinit std::atomic<uint32_t> looks{0};

// How many of the words of a vtable are functions of ours.
unsigned ours_in(const void* vtable, size_t bytes) {
    unsigned found = 0;
    for (size_t i = 0; i < bytes / sizeof(void*); ++i)
        if (is_ours(static_cast<const void* const*>(vtable)[i])) ++found;
    return found;
}

}  // namespace

bool unreached_tensorflow(char* path, size_t room) {
    if (looks.load(std::memory_order_relaxed) >= kLooks) return false;
    const uint32_t count = looks.fetch_add(1, std::memory_order_relaxed) + 1;
    if ((count & (count - 1)) != 0) return false;
    const trace::KeepErrno keep_errno;
    bool found = false, unreached = false;
    with_loaded_objects([&](const LoadedObjects& all) {
        for (const auto& object : all) {
            const DynamicTables tables(object);
            for (const BfcAllocator* allocator : {&kTsl, &kTensorflow}) {
                size_t bytes = 0;
                const void* vtable = tables.find_data(allocator->vtable, bytes);
                if (vtable == nullptr || !object.contains(vtable)) continue;
                found = true;
                if (ours_in(vtable, bytes) >= 3 || unreached) continue;
                unreached = true;
                const size_t length = strnlen(object.path, room - 1);
                memcpy(path, object.path, length);
                path[length] = '\0';
            }
        }
    });
    if (found) looks.store(kLooks, std::memory_order_relaxed);
    return unreached;
}

// The names by which the job's objects call them.
#define BFC_ALLOCATOR(mangled, allocator)                                                                            \
    extern "C"                                                                                                       \
        [[gnu::visibility("default")]] void* mangled##11AllocateRawEmm(void* self, size_t alignment, size_t bytes) { \
        return allocate(allocator, Method::AllocateRaw, self, alignment, bytes, true);                               \
    }                                                                                                                \
    extern "C" [[gnu::visibility("default")]] void* mangled##11AllocateRawEmmRKNS_20AllocationAttributesE(           \
        void* self, size_t alignment, size_t bytes, const void* attributes) {                                        \
        return allocate(allocator, Method::AllocateRawAttributes, self, alignment, bytes, retries(attributes),       \
                        attributes);                                                                                 \
    }                                                                                                                \
    extern "C" [[gnu::visibility("default")]] void mangled##13DeallocateRawEPv(void* self, void* block) {            \
        deallocate(allocator, self, block);                                                                          \
    }
BFC_ALLOCATOR(_ZN3tsl12BFCAllocator, kTsl)
BFC_ALLOCATOR(_ZN10tensorflow12BFCAllocator, kTensorflow)
#undef BFC_ALLOCATOR

}  // namespace vramtrace::shim
