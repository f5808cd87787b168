// SPDX-License-Identifier: Apache-2.0
#pragma once

#define UNW_LOCAL_ONLY
#include <libunwind.h>

#include <cstdint>
#include <cstring>

// What libunwind says of the calling function's stack, in the way that trace::Frame counts addresses: return address − 1
// for callers, the exact address for what a signal interrupted and for the code that a handler returns to.
namespace vramtrace::test {

// mov $15, %rax; syscall
inline bool is_signal_return(uintptr_t pc) {
    return memcmp(reinterpret_cast<const void*>(pc), "\x48\xc7\xc0\x0f\x00\x00\x00\x0f\x05", 9) == 0;
}

// A list that needs no heap: some captures happen in the middle of malloc.
struct Addresses {
    static constexpr size_t kMost = 1100;
    uintptr_t list[kMost];
    size_t count = 0;

    size_t size() const { return count; }
    uintptr_t operator[](size_t i) const { return list[i]; }
    uintptr_t& back() { return list[count - 1]; }
    void push_back(uintptr_t address) {
        if (count < kMost) list[count++] = address;
    }
};

[[gnu::noinline]] inline void libunwind_addresses(Addresses& result, bool flush = true) {
    result.count = 0;
    unw_context_t context;
    unw_cursor_t cursor;
    unw_getcontext(&context);
    if (unw_init_local(&cursor, &context) < 0) return;
    if (flush) unw_flush_cache(unw_local_addr_space, 0, 0);
    while (unw_step(&cursor) > 0) {
        unw_word_t pc = 0;
        unw_get_reg(&cursor, UNW_REG_IP, &pc);
        if (pc == 0) break;
        const bool interrupted = unw_is_signal_frame(&cursor) > 0;
        result.push_back(interrupted || is_signal_return(pc) ? pc : pc - 1);
    }
}

}  // namespace vramtrace::test
