// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "shim/capture/raw_calls.h"

// WHICH STACK BYTES MAY BE READ: a run of pages around the stack pointer, each asked of the kernel once.
//
//        low_                                  high_
//   ──────┼─────────────────────────────────────┼───── ? ─────
//         known to be readable                   asked page by page when the walk gets there
//
// Asking (one system call of about 100 ns a page) beats pthread_getattr_np, which parses /proc/self/maps on the first
// thread and allocates on others, and it holds on every stack: makecontext, sigaltstack, fibers. A guard page ends the
// run. The run is kept with the thread while the stack pointer stays in it, and begun anew when it leaves: two stacks
// that touch must not become one run, since one of them may be unmapped while the other lives. A walk by right rules
// reads live frames only, whatever the run says; the run is there for the walk by wrong ones.
namespace vramtrace::shim {

class StackMemory {
public:
    static constexpr uintptr_t kPage = 4096;

    // Makes `sp` part of the run, or begins a new run there. False if not even that page can be read.
    bool begin(uintptr_t sp) {
        if (sp - low_ < high_ - low_) return true;
        low_ = high_ = 0;
        const uintptr_t page = sp & ~(kPage - 1);
        if (!raw::readable(page)) return false;
        low_ = page;
        high_ = page + kPage;
        return true;
    }

    // True if the 8 bytes at `address` can be read: aligned, in the run or in pages joined to it.
    [[gnu::always_inline]] bool can_load(uintptr_t address) {
        if (address & 7) [[unlikely]]
            return false;
        return address - low_ < high_ - low_ || reach(address);
    }
    [[gnu::always_inline]] bool load(uintptr_t address, uint64_t& value) {
        if (!can_load(address)) [[unlikely]]
            return false;
        value = *reinterpret_cast<const uint64_t*>(address);
        return true;
    }
    bool contains(uintptr_t address) const { return address - low_ < high_ - low_; }
    void forget() { low_ = high_ = 0; }

private:
    [[gnu::noinline]] bool reach(uintptr_t address) {
        if (high_ == 0) return false;
        return address >= high_ ? reach_up(address) : reach_down(address);
    }
    bool reach_up(uintptr_t address) {
        constexpr uintptr_t kFarthest = 64UL << 20;  // one frame with 64 MiB of locals
        if (address - high_ > kFarthest) return false;
        while (address >= high_) {
            if (!raw::readable(high_)) return false;
            high_ += kPage;
        }
        return true;
    }
    bool reach_down(uintptr_t address) {
        constexpr uintptr_t kFarthest = 1UL << 20;
        if (low_ - address > kFarthest) return false;
        while (address < low_) {
            if (!raw::readable(low_ - kPage)) return false;
            low_ -= kPage;
        }
        return true;
    }

    uintptr_t low_, high_;  // no initialisers: lives in zero-filled memory of the thread
};

}  // namespace vramtrace::shim
