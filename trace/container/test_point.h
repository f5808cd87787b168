// SPDX-License-Identifier: Apache-2.0
#pragma once

// Named places where a test can kill the process that drains rings: one before and after each effect that others can
// see. Outside tests the hook is null and a point costs one load, in code that runs some hundred times a second.
namespace vramtrace::trace {

inline void (*test_point_hook)(const char* name) = nullptr;

inline void test_point(const char* name) {
    if (test_point_hook != nullptr) test_point_hook(name);
}

}  // namespace vramtrace::trace
