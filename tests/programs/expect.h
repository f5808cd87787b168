// SPDX-License-Identifier: Apache-2.0
// What every program of this folder prints, so that a test can compare with what was recorded:
//   expect API BYTES [LABEL]   one allocation made: the driver function as reached, and the runtime function called
//   kept API BYTES             this one was never freed
// A program that could not do what it wanted prints a line that starts with FAIL and exits 1.
#pragma once

#include <cstdio>
#include <cstdlib>

inline void expect(const char* api, size_t bytes, const char* label = "") {
    std::printf("expect %s %zu%s%s\n", api, bytes, *label != '\0' ? " " : "", label);
    std::fflush(stdout);
}

inline void kept(const char* api, size_t bytes) {
    std::printf("kept %s %zu\n", api, bytes);
    std::fflush(stdout);
}

[[noreturn]] inline void fail(const char* what, int code) {
    std::printf("FAIL %s: %d\n", what, code);
    std::fflush(stdout);
    std::exit(1);
}

/// Every call must succeed; driver and runtime both answer 0 for success.
#define MUST(call)                                    \
    do {                                              \
        const int must_code = static_cast<int>(call); \
        if (must_code != 0) fail(#call, must_code);   \
    } while (0)

#define MUST_HOLD(condition)                   \
    do {                                       \
        if (!(condition)) fail(#condition, 0); \
    } while (0)
