// SPDX-License-Identifier: Apache-2.0
// Built twice under two names and with two sizes, so that both libraries have the same layout and can be mapped at the
// same address one after the other: a stack captured in the second must not be named after the first.
#include <cstddef>

extern "C" __attribute__((noinline, visibility("default"))) int RELOAD_FUNCTION(int (*allocate)(size_t)) {
    return allocate(RELOAD_BYTES) + 1;  // the sum keeps this frame on the stack
}

extern "C" __attribute__((visibility("default"))) int plugin_entry(int (*allocate)(size_t)) {
    return RELOAD_FUNCTION(allocate) + 1;
}
