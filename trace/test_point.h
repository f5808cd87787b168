// SPDX-License-Identifier: Apache-2.0
#pragma once

// Named places at which a test can stop, kill or interrupt a writer: one at each side effect that others can see. They
// exist only in code compiled with VRAMTRACE_TEST_POINTS; in everything that is shipped the macro is empty.
#ifdef VRAMTRACE_TEST_POINTS
namespace vramtrace::trace {
// Set by a test; called with the point's name on the thread that passes it.
extern void (*test_point_reached)(const char* name);
}  // namespace vramtrace::trace
#define VRAMTRACE_TEST_POINT(name)                                                                           \
    do {                                                                                                     \
        if (::vramtrace::trace::test_point_reached != nullptr) ::vramtrace::trace::test_point_reached(name); \
    } while (false)
#else
#define VRAMTRACE_TEST_POINT(name) \
    do {                           \
    } while (false)
#endif
