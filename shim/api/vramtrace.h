/* SPDX-License-Identifier: Apache-2.0 */
/*
 * <vramtrace.h>: a program says what it is doing, so that reports can be cut by it ("vramtrace report --phase NAME").
 *
 *   #include <vramtrace.h>
 *
 *   vramtrace_range_push("step");        // nested in this thread: "epoch/step"
 *   vramtrace_mark("loss computed");
 *   vramtrace_range_pop();
 *
 * There is nothing to link with. Run under vramtrace (libvramtrace.so preloaded), the calls are recorded; without it each
 * is a test of one pointer and does nothing. C99 and C++, ELF systems, GCC and Clang.
 *
 * All functions may be called from any thread at any time, also before CUDA is initialised and in a fork's child, and
 * never fail, block for long, allocate with malloc or change errno. What cannot be recorded is counted in the trace.
 * Names are NUL-terminated UTF-8 and copied; beyond 255 bytes they are cut. NULL or "" becomes "(unnamed)".
 *
 * A range is a window of time of the whole process: what other threads allocate meanwhile counts in it too. Ranges alone
 * open no trace; those that are open when the first GPU memory is allocated are in it from its beginning.
 */
#ifndef VRAMTRACE_H
#define VRAMTRACE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The functions of libvramtrace.so: weak, so 0 without it. Not for direct use. */
__attribute__((weak)) void vramtrace_api_mark(const char* name);
__attribute__((weak)) void vramtrace_api_range_push(const char* name);
__attribute__((weak)) void vramtrace_api_range_pop(void);
__attribute__((weak)) uint64_t vramtrace_api_range_start(const char* name);
__attribute__((weak)) void vramtrace_api_range_end(uint64_t id);
__attribute__((weak)) void vramtrace_api_start(void);
__attribute__((weak)) void vramtrace_api_stop(void);
__attribute__((weak)) int vramtrace_api_is_recording(void);
__attribute__((weak)) size_t vramtrace_api_trace_directory(char* to, size_t room);

/* The address of a weak function as the loader found it. A program that is not position independent would otherwise have
 * it settled as 0 by the linker; through the global offset table it is left to the loader. */
#if defined(__x86_64__) && !defined(__PIC__)
#define VRAMTRACE_ADDRESS(type, function)                                                                    \
    (__extension__({                                                                                         \
        type vramtrace_address_;                                                                             \
        __asm__(".weak " #function "\n\tmovq " #function "@GOTPCREL(%%rip), %0" : "=r"(vramtrace_address_)); \
        vramtrace_address_;                                                                                  \
    }))
#else
#define VRAMTRACE_ADDRESS(type, function) (&function)
#endif

typedef void (*vramtrace_name_function_)(const char*);
typedef void (*vramtrace_plain_function_)(void);
typedef uint64_t (*vramtrace_start_function_)(const char*);
typedef void (*vramtrace_end_function_)(uint64_t);
typedef int (*vramtrace_ask_function_)(void);
typedef size_t (*vramtrace_text_function_)(char*, size_t);

/* A moment with a name. */
static inline void vramtrace_mark(const char* name) {
    vramtrace_name_function_ function = VRAMTRACE_ADDRESS(vramtrace_name_function_, vramtrace_api_mark);
    if (function) function(name);
}

/* Opens a range nested in this thread. */
static inline void vramtrace_range_push(const char* name) {
    vramtrace_name_function_ function = VRAMTRACE_ADDRESS(vramtrace_name_function_, vramtrace_api_range_push);
    if (function) function(name);
}

/* Ends the innermost range that this thread has pushed. One too many is ignored and counted. */
static inline void vramtrace_range_pop(void) {
    vramtrace_plain_function_ function = VRAMTRACE_ADDRESS(vramtrace_plain_function_, vramtrace_api_range_pop);
    if (function) function();
}

/* Opens a range that any thread may end, in any order. Returns its id for vramtrace_range_end; 0 without vramtrace. */
static inline uint64_t vramtrace_range_start(const char* name) {
    vramtrace_start_function_ function = VRAMTRACE_ADDRESS(vramtrace_start_function_, vramtrace_api_range_start);
    return function ? function(name) : 0;
}

/* Ends that range; 0 is ignored, an id that is not open is ignored and counted. */
static inline void vramtrace_range_end(uint64_t id) {
    vramtrace_end_function_ function = VRAMTRACE_ADDRESS(vramtrace_end_function_, vramtrace_api_range_end);
    if (function) function(id);
}

/* Recording on and off, for the whole process; beats VRAMTRACE_START. While it is off, allocations are not recorded, but
 * releases are, so that nothing looks like a leak that was freed meanwhile. */
static inline void vramtrace_start(void) {
    vramtrace_plain_function_ function = VRAMTRACE_ADDRESS(vramtrace_plain_function_, vramtrace_api_start);
    if (function) function();
}
static inline void vramtrace_stop(void) {
    vramtrace_plain_function_ function = VRAMTRACE_ADDRESS(vramtrace_plain_function_, vramtrace_api_stop);
    if (function) function();
}

/* 1 if GPU memory allocated now would be recorded, else 0: no vramtrace, VRAMTRACE_DISABLE, or stopped. */
static inline int vramtrace_is_recording(void) {
    vramtrace_ask_function_ function = VRAMTRACE_ADDRESS(vramtrace_ask_function_, vramtrace_api_is_recording);
    return function ? function() : 0;
}

/* The absolute path of the trace directory of this process, without its NUL the bytes returned; cut to `room` bytes with
 * its NUL in `to`. 0 and "": there is no trace (yet). */
static inline size_t vramtrace_trace_directory(char* to, size_t room) {
    vramtrace_text_function_ function = VRAMTRACE_ADDRESS(vramtrace_text_function_, vramtrace_api_trace_directory);
    if (function) return function(to, room);
    if (to && room) *to = '\0';
    return 0;
}

#ifdef __cplusplus
}
#endif

#endif
