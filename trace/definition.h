// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

// DEFINITIONS: the things that events name by a number. They live in one append-only image per process:
//
//   image:  | 16 bytes unused | record | record | record | …        id of a record = its offset / 16, so 0 = "none"
//   record: | DefinitionHeader (16 bytes) | body | zero padding to 16 |
//
// The image is the same bytes in the job's .defs file, in the container's definition blocks and in the reader's memory.
// Nothing is ever moved or overwritten. A record is published (header.commit = kDefinitionCommitted, release) before the
// first event that names it; a reader that finds another commit word there says "definition missing" and counts it.
namespace vramtrace::trace {

using DefinitionId = uint32_t;  // 28 bits: an image is 4 GiB at most
constexpr uint32_t kDefinitionAlignment = 16;
constexpr uint32_t kDefinitionIdBits = 28;
constexpr uint16_t kDefinitionCommitted = 0xD1F1;
constexpr uint32_t kMaxDefinitionBytes = 1U << 20;

// Values are part of the file format: append only.
enum class DefinitionKind : uint16_t {
    None = 0,
    Stack = 1,        // StackBody, then frame_count frames, innermost first
    Module = 2,       // ModuleBody, then build_id_bytes of build-id, then path_bytes of path (no NUL)
    String = 3,       // header.body_bytes bytes, any content
    Names = 4,        // NUL-terminated strings one after the other; an event's api/label index counts them, 0 = ""
    Device = 5,       // DeviceBody, then the name (no NUL)
    Fact = 6,         // "key\0value": something about the process (facts.h names the keys)
    CodeObject = 7,   // CodeObjectBody, then file name, qualified name (both UTF-8), line table: a Python code object
    Thread = 8,       // ThreadBody, then the thread's name (no NUL)
    JoinedStack = 9,  // JoinedStackBody: one call stack of which native and Python frames were taken apart
};

struct DefinitionHeader {
    uint32_t body_bytes = 0;  // bytes of the body without header and padding; written first
    DefinitionKind kind = DefinitionKind::None;
    uint16_t commit = 0;  // atomic: kDefinitionCommitted once all else is written (release; readers acquire)
    uint32_t hash = 0;    // of the body; lets a reader notice damage (FNV-1a, 32 bits)
    uint32_t reserved = 0;
};
static_assert(sizeof(DefinitionHeader) == kDefinitionAlignment);

// One frame of a stack: a place in a module.
//   bits 63…36 definition id of a Module or CodeObject; bits 35…0 offset
// Native: offset = return address − 1 − module.bias for callers, so that it lies inside the call; for the innermost frame
// of a signal-interrupted function the exact pc. It is an address as the ELF file's program headers count (p_vaddr).
// Python: offset = bytes from the start of the code to the instruction that was running; kFrameEntered besides if the
// frame was entered from C: it is the outermost one of its run of the interpreter.
using Frame = uint64_t;
constexpr unsigned kFrameOffsetBits = 36;
constexpr uint64_t kFrameEntered = 1ULL << (kFrameOffsetBits - 1);
constexpr Frame make_frame(DefinitionId module, uint64_t offset) {
    return (static_cast<Frame>(module) << kFrameOffsetBits) | (offset & ((1ULL << kFrameOffsetBits) - 1));
}
constexpr DefinitionId frame_module(Frame frame) {
    return static_cast<DefinitionId>(frame >> kFrameOffsetBits);
}
constexpr uint64_t frame_offset(Frame frame) {
    return frame & ((1ULL << kFrameOffsetBits) - 1);
}

enum StackFlags : uint16_t {
    kStackTruncated = 1,   // more frames than the configured depth
    kStackIncomplete = 2,  // the walk ended before the thread's start (no unwind information, damaged stack)
};
struct StackBody {
    uint16_t frame_count = 0;
    uint16_t flags = 0;
    uint32_t reserved = 0;
    // Frame frames[frame_count]
};
static_assert(sizeof(StackBody) == 8);

// `native` and `python` are Stacks, both of the same moment and thread. Whoever shows it puts each run of Python frames
// (up to and with one marked kFrameEntered) in the place of the interpreter's native frame that ran it.
struct JoinedStackBody {
    DefinitionId native = 0;  // 0: could not be taken
    DefinitionId python = 0;
};
static_assert(sizeof(JoinedStackBody) == 8);

// How `line_table` maps instruction offsets to lines; the interpreter's own bytes.
enum class LineTable : uint16_t {
    None = 0,      // only first_line is known
    Lnotab = 1,    // CPython 3.8, 3.9: pairs (byte delta, signed line delta)
    Pep626 = 2,    // CPython 3.10: pairs (byte delta, signed line delta, -128 = no line)
    Location = 3,  // CPython 3.11 and later: Objects/locations.md
};
struct CodeObjectBody {
    uint32_t first_line = 0;
    LineTable form = LineTable::None;
    uint16_t python = 0;  // major << 8 | minor
    uint32_t file_bytes = 0, name_bytes = 0, table_bytes = 0;
};
static_assert(sizeof(CodeObjectBody) == 20);

enum ModuleFlags : uint16_t {
    kModuleAnonymous =
        1,            // no file: generated code. bias = lowest address, no build-id, path = "[anonymous]" or a name
    kModuleMain = 2,  // the executable itself
    kModuleVdso = 4,
};
struct ModuleBody {
    uint64_t bias = 0;            // what the loader added to the file's addresses (link_map.l_addr)
    uint64_t start = 0, end = 0;  // lowest and one past the highest mapped address
    uint32_t generation = 0;      // counts dlclose epochs: two modules at the same addresses differ here
    uint16_t flags = 0;
    uint16_t build_id_bytes = 0;
    uint32_t path_bytes = 0;
    uint32_t reserved = 0;
};
static_assert(sizeof(ModuleBody) == 40);

struct DeviceBody {
    uint32_t ordinal = 0;
    uint32_t name_bytes = 0;
    uint64_t total_bytes = 0;  // cuDeviceTotalMem_v2
    uint8_t uuid[16] = {};
};
static_assert(sizeof(DeviceBody) == 32);

struct ThreadBody {
    uint32_t thread = 0;
    uint32_t name_bytes = 0;
};

// Keys of Fact definitions.
namespace fact {
constexpr char kCommand[] = "command";        // arguments joined by NUL
constexpr char kExecutable[] = "executable";  // readlink of /proc/self/exe
constexpr char kWorkingDirectory[] = "directory";
constexpr char kDriverVersion[] = "driver";  // "13000" as cuDriverGetVersion says
constexpr char kDriverPath[] = "driver_path";
constexpr char kShimVersion[] = "vramtrace";
constexpr char kStackDepth[] = "stack_depth";
constexpr char kSettings[] = "settings";             // every VRAMTRACE_* variable set, "NAME=value" joined by NUL
constexpr char kUnloadable[] = "collector";          // why no collector could be started, if so
constexpr char kCudart[] = "cudart";                 // path of a runtime seen, one fact each
constexpr char kFramework[] = "framework";           // "PyTorch 2.14.1+cu130", one fact each
constexpr char kFrameworkPath[] = "framework_path";  // the library whose blocks are seen
constexpr char kAllocator[] = "allocator";  // "NAME=value": a variable that says how a framework allocates, one each
constexpr char kPython[] = "python";        // "CPython 3.12.3"
constexpr char kPythonFrames[] = "python_frames";  // "off: why" if there is Python and its frames are not recorded
constexpr char kNvtx[] = "nvtx";                   // path of another tool that the job's NVTX ranges go to
}  // namespace fact

}  // namespace vramtrace::trace
