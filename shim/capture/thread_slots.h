// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "shim/arena.h"
#include "shim/capture/native_stack.h"
#include "shim/capture/python_stack.h"

// ROOM FOR THE CAPTURES IN PROGRESS, outside of the job's stacks (a signal stack may have two pages) and without
// anything that would have to be given back when a thread ends: a capture takes the slot that its thread's address
// points to, or a free one near it, and leaves it at its end.
namespace vramtrace::shim {

// Usable when zero-filled.
struct alignas(64) ThreadSlot {
    std::atomic<uintptr_t> owner;  // thread pointer of the capture in progress; 0: free
    WalkSpace* space;     // the owner's; made by the first one. Remembers the slot's last walk, whoever's it was
    PythonSpace* python;  // the same for Python frames; made when there is an interpreter
};

// Usable when zero-filled.
struct ThreadSlots {
    static constexpr size_t kSlots = 256;  // captures at the same instant
    ThreadSlot slots[kSlots];
};

class ThreadSlotUse {
public:
    explicit ThreadSlotUse(ThreadSlots& slots) {
        const auto self = reinterpret_cast<uintptr_t>(__builtin_thread_pointer());
        const size_t home = (self * 0x9e3779b97f4a7c15ULL) >> 56;
        static_assert(ThreadSlots::kSlots == 256, "the shift above gives 8 bits");
        for (size_t i = 0; i < ThreadSlots::kSlots; ++i) {
            ThreadSlot& slot = slots.slots[(home + i) % ThreadSlots::kSlots];
            uintptr_t free = 0;
            // acquire, pairs with the release in the destructor: the slot's content is the last user's, complete. A slot
            // that is still ours was left by a longjmp out of a handler: what it remembers may be half written.
            const bool taken =
                slot.owner.compare_exchange_strong(free, self, std::memory_order_acquire, std::memory_order_relaxed);
            if (!taken && free != self) continue;
            slot_ = &slot;
            if (slot.space == nullptr) slot.space = arena_new<WalkSpace>();
            if (!taken && slot.space != nullptr) slot.space->memo.forget();
            if (!taken && slot.python != nullptr) slot.python->forget();
            return;
        }
    }
    ~ThreadSlotUse() {
        if (slot_ != nullptr) slot_->owner.store(0, std::memory_order_release);
    }
    ThreadSlotUse(const ThreadSlotUse&) = delete;
    ThreadSlotUse& operator=(const ThreadSlotUse&) = delete;

    // Null: no slot is free, or no memory.
    WalkSpace* space() const { return slot_ == nullptr ? nullptr : slot_->space; }
    PythonSpace* python() const {
        if (slot_ == nullptr) return nullptr;
        if (slot_->python == nullptr) slot_->python = arena_new<PythonSpace>();
        return slot_->python;
    }

private:
    ThreadSlot* slot_ = nullptr;
};

}  // namespace vramtrace::shim
