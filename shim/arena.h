// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

// MEMORY OF OUR OWN, in the job: anonymous pages that no fork's child inherits the content of (MADV_WIPEONFORK).
//
//   .data: root pointer ──► root page: zero at first, and zero again in every fork's child
//                            │ RootSlots, bump pointer of the arena
//                            ▼
//                           arena chunks: zero-filled, handed out once, never given back
//
// So a child, raw clone included, finds "nothing was ever started here" and starts anew without any handler. What lives
// in .data or .bss survives a fork: keep pointers to arena memory in a RootSlot. (A static pointer to one object is fine
// too if that object, all zero, is a fresh one: the pages stay mapped in the child. What it pointed to is gone.)
namespace vramtrace::shim {

// Zero-filled memory, `alignment` a power of two ≤ 4096; nullptr if there is none (limit reached, mmap refused, or a
// kernel without MADV_WIPEONFORK). Lock-free, async-signal-safe, keeps errno.
void* arena_allocate(size_t bytes, size_t alignment = 16);

template <typename T>
T* arena_new() {
    return static_cast<T*>(arena_allocate(sizeof(T), alignof(T)));  // T must be usable when zero-filled
}

// One pointer a room, null again in a fork's child. Install by CAS(nullptr → own); the loser forgets its own (release,
// pairs with the acquire of every user).
enum class RootSlot : uint8_t {
    Settings,
    Recording,
    Capture,
    Modules,
    Python,
    Real,
    Hooks,
    Framework,
    Api,
    Count = 16
};

// nullptr only if there is no memory for the root page.
std::atomic<void*>* root_slot(RootSlot slot);

// The object of a slot, made zero-filled by whoever asks first; nullptr without memory.
template <typename T>
T* root_object(RootSlot slot) {
    std::atomic<void*>* root = root_slot(slot);
    if (root == nullptr) return nullptr;
    // acquire, pairs with the release below.
    if (void* object = root->load(std::memory_order_acquire)) return static_cast<T*>(object);
    T* fresh = arena_new<T>();
    if (fresh == nullptr) return nullptr;
    void* expected = nullptr;
    if (root->compare_exchange_strong(expected, fresh, std::memory_order_acq_rel, std::memory_order_acquire)) {
        return fresh;
    }
    return static_cast<T*>(expected);
}

}  // namespace vramtrace::shim
