// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "shim/framework_names.h"
#include "shim/real/link_scope.h"
#include "trace/event.h"

// What all hooks into frameworks share. A framework tells of each block by calling a function of its own through the
// linker; we export a function of the same name, record the block and go on to the real one:
//
//   libc10_cuda.so ──PLT──► our c10::report… ──► report_block() ──► record()
//                                  └──────────► linked<Function>() ──► libc10.so's own
//
// Rules of every hook here, because it runs with the framework's allocator locked:
//  - No Python, no GIL, no CUDA call, no heap, no dlopen or dlsym. Threads that hold the GIL wait for that lock.
//  - The only lock of others that may be taken is the loader's list lock (with_loaded_objects), at the first call from a
//    place and after a dlclose. That cannot close a circle: the loader holds it only while it changes its list, and
//    dl_iterate_phdr while it calls back; neither runs code that allocates blocks. (dlopen's own lock, under which
//    constructors run, is another one and never taken.)
//  - errno is the job's, and whatever happens the framework's own function is called.
//  - A block never opens a trace: where no CUDA memory was made (workers that only destroy what a fork left them) there
//    is none.
namespace vramtrace::shim {

// Numbers for linked_function(): one a symbol, beyond those of the CUDA tables.
constexpr unsigned kTorchLinks = 256;
constexpr unsigned kTensorFlowLinks = 288;

// The definition of `symbol` that the code at `caller` would have reached without us; nullptr if there is none (then
// nobody can have called us through it). Remembered per place of call, forgotten after a dlclose: a caller keeps what it
// is linked with loaded, so an address found for it is good while it runs.
template <typename Function>
Function* linked(unsigned link, const char* symbol, const void* caller) {
    return reinterpret_cast<Function*>(linked_function(link, symbol, caller));
}

// Whether blocks are recorded: a trace is open and VRAMTRACE_FRAMEWORKS is not 0.
bool blocks_are_recorded();

// Records a BlockAlloc, BlockFree or FrameworkOutOfMemory; fills in `api`. Keeps errno. Nothing if blocks_are_recorded()
// is false, or if this thread is in a call of our own.
void report_block(trace::Event& event, FrameworkFunction function);

// While a framework's own function runs below us: the same report made from inside it under another of the names (one
// overload calling another) is the same event and must not count again. By the other name only: an exception may leave
// the framework's function past us, and what is remembered here then must not silence the next call of that name.
class Forwarding {
public:
    Forwarding(unsigned link, uint64_t address, int64_t bytes);
    ~Forwarding();
    Forwarding(const Forwarding&) = delete;
    Forwarding& operator=(const Forwarding&) = delete;

    static bool repeats(unsigned link, uint64_t address, int64_t bytes);

    struct State {
        uint64_t address;
        int64_t bytes;
        unsigned link;  // 0: nothing is under way
    };

private:
    const State outer_;
};

}  // namespace vramtrace::shim
