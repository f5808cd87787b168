// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

// THE SETTINGS: environment variables VRAMTRACE_NAME, read once at the first event. This table is the only place that knows
// them: the parser, the Settings struct, the documentation's table and its check all come from it.
//   NAME · type · member · default · least · greatest · one sentence
// Types: Text; Number; Bytes (K, M, G or T behind it, powers of 1024); Switch (0/1, no/yes, off/on, false/true); Level
// (all, driver).
#define VRAMTRACE_SETTINGS(X)                                                                                         \
    X(DIR, Text, directory, "vramtrace-trace", 0, 0,                                                                  \
      "Trace directory, created if missing; %h host, %p pid, %t start in seconds since 1970, %n rank, %% a per cent") \
    X(STACK_DEPTH, Number, stack_depth, 128, 1, 1024, "Frames kept of each call stack; deeper ones are marked cut")   \
    X(FREE_STACKS, Switch, free_stacks, 1, 0, 1, "Record call stacks of releases too")                                \
    X(PYTHON_STACKS, Switch, python_stacks, 1, 0, 1,                                                                  \
      "Record the Python frames of a call stack beside the native ones")                                              \
    X(BUFFER_LIMIT, Bytes, buffer_limit, 512ULL << 20, 1ULL << 18, 1ULL << 36,                                        \
      "Bytes of events that may wait for the collector, per process; beyond it events are lost and counted")          \
    X(DEFINITIONS_LIMIT, Bytes, definitions_limit, 256ULL << 20, 1ULL << 20, (1ULL << 32) - 4096,                     \
      "Bytes of call stacks, modules and names per process; beyond it events carry no stack")                         \
    X(DISK_LIMIT, Bytes, disk_limit, 4ULL << 30, 1ULL << 20, 1ULL << 50, "Bytes that a trace directory may take")     \
    X(DISK_FLOOR, Bytes, disk_floor, 256ULL << 20, 0, 1ULL << 50,                                                     \
      "Bytes that stay free on its file system, at most one per cent of it")                                          \
    X(COLLECTOR, Text, collector, "", 0, 0, "Path of vramtrace-collect, or 0: start none")                            \
    X(START, Switch, start, 1, 0, 1, "Record from the start; 0: only after start() of the marker interface")          \
    X(MIN_SIZE, Bytes, min_size, 0, 0, 1ULL << 50,                                                                    \
      "Allocations and blocks below it are counted but not recorded; VMM handles always are")                         \
    X(LEVEL, Level, level, 0, 0, 0, "driver: no framework's blocks; all: both levels")                                \
    X(QUIET, Switch, quiet, 0, 0, 1, "Never write a line to stderr")                                                  \
    X(DISABLE, Switch, disable, 0, 0, 1, "Record nothing")                                                            \
    X(FRAMEWORKS, Switch, frameworks, 1, 0, 1, "Record the blocks that PyTorch and TensorFlow hand out")              \
    X(STRIP_DEEPBIND, Switch, strip_deepbind, 0, 0, 1,                                                                \
      "Take RTLD_DEEPBIND away from dlopen, so that plugins which ask for it are seen too")

namespace vramtrace::shim {

namespace setting_type {
struct Text {
    char value[1024];
    const char* c_str() const { return value; }
};
using Number = uint32_t;
using Bytes = uint64_t;
using Switch = bool;
enum class Level : uint8_t { All = 0, Driver = 1 };
}  // namespace setting_type

struct Settings {
#define VRAMTRACE_SETTING_MEMBER(NAME, type, member, initial, least, greatest, text) setting_type::type member;
    VRAMTRACE_SETTINGS(VRAMTRACE_SETTING_MEMBER)
#undef VRAMTRACE_SETTING_MEMBER

    char rank[32];     // first of SLURM_PROCID, OMPI_COMM_WORLD_RANK, PMI_RANK, RANK; "" = none
    char home[1024];   // HOME, for the collector
    char nvtx[1024];   // NVTX_INJECTION64_PATH: the tool that NVTX ranges go to, "" = none
    char given[8192];  // every VRAMTRACE_* variable that is set, "NAME=value" each with its NUL
    uint32_t given_bytes;
    char allocators[4096];  // variables that say how a framework allocates, "NAME=value" each with its NUL
    uint32_t allocator_bytes;
    char refused[128];  // the first variable whose value was ignored, "" = none
};

// Variables of frameworks' own that say how they allocate; those that are set are kept in Settings::allocators.
constexpr const char* kAllocatorVariables[] = {
    "PYTORCH_ALLOC_CONF",
    "PYTORCH_CUDA_ALLOC_CONF",
    "PYTORCH_NO_CUDA_MEMORY_CACHING",
    "TF_GPU_ALLOCATOR",
    "TF_FORCE_GPU_ALLOW_GROWTH",
    "TF_CPU_ALLOCATOR_USE_BFC",
    "XLA_PYTHON_CLIENT_ALLOCATOR",
    "XLA_PYTHON_CLIENT_PREALLOCATE",
    "XLA_PYTHON_CLIENT_MEM_FRACTION",
    "XLA_CLIENT_MEM_FRACTION",
};

// Takes the variables from `environment` (NAME=value strings, nullptr at the end). Pure: for the real one, see below.
void parse_settings(const char* const* environment, Settings& settings);

// The process's settings, parsed at the first call in this process (and again in a fork's child); nullptr only without
// memory. Never crashes when another thread changes the environment meanwhile: it is read through the kernel.
const Settings* settings();

}  // namespace vramtrace::shim
