// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "shim/capture/elf_image.h"
#include "trace/definition.h"

namespace vramtrace::trace {
class DefinitionTable;
}

// WHERE CODE LIES: the executable mappings of this process as modules with a definition id each.
//
// Why /proc/self/maps and not the loader's own list
//  - dl_iterate_phdr takes a lock of the loader. A thread that holds it may be stopped by a garbage collector or wait for
//    us in its callback; a capture that waits for it would hang the job.
//  - The link_map chain can be walked without the lock only while nobody unloads: its nodes are freed.
//  - _dl_find_object has neither fault but is younger (glibc 2.35) than the oldest C library that we run on.
//  - The kernel's list needs no lock of the job, knows generated code, the vdso, other link namespaces and files mapped
//    by hand, and says which file it is by device and inode. It is slow (about 1 µs a line), so it is read only when an
//    instruction pointer lies in no known module and when something was unloaded.
//
// A module on our own stack cannot be unloaded while we look at it, but one that a damaged stack points to can: until a
// module is known to be in use, its memory is read through safe_copy.
//
// After a dlclose the list is read again and every known module is compared with what is mapped now: addresses, device,
// inode, and a fingerprint of its headers and build-id (inodes are used again at once by some file systems). Only when
// one is gone do cached rows become invalid: programs that dlclose what stays loaded pay for the reading alone.
//
//    Listed ──first pc in it──▶ resolved (definition id ≠ 0) ──unmapped or changed──▶ gone ──same bytes again──▶ resolved
namespace vramtrace::shim {

struct Module {
    // Written once, before the list's count says so (release).
    uintptr_t start, end;            // of its mappings
    uintptr_t text_start, text_end;  // executable mappings, from the lowest to the highest
    uint64_t device, inode;
    const char* path;
    uint32_t path_bytes;
    uint32_t generation;
    bool starts_with_file;  // `start` maps the file's first byte
    bool generated;         // no file, or none that is ELF

    // Written once under the lock, before `definition` (release).
    ElfImage image;
    uint64_t fingerprint;
    bool own;  // the library that we are in: its frames are left out

    uint64_t last_seen;  // number of the reading that saw it; under the lock

    std::atomic<trace::DefinitionId> definition;  // release, pairs with the acquire of whoever uses `image`
    std::atomic<bool> gone;                       // release, pairs with the acquire in find()

    bool contains(uintptr_t pc) const { return pc >= text_start && pc < text_end; }
};

// Usable when zero-filled.
class ModuleList {
public:
    static constexpr size_t kMaxModules = 16384;

    bool empty() const { return count_.load(std::memory_order_acquire) == 0; }

    // The known module around `pc`, or null. Lock-free.
    Module* find(uintptr_t pc) const;

    // Modules that have a definition, because an instruction pointer lay in them. Grows only.
    uint32_t met() const { return met_.load(std::memory_order_acquire); }  // pairs with the release in resolve()
    // All known ones, in the order in which they were seen.
    uint32_t count() const { return count_.load(std::memory_order_acquire); }
    const Module& at(uint32_t index) const { return modules_.load(std::memory_order_acquire)[index]; }

    // Reads the kernel's list; adds modules, and the generated code around `pc` if it lies in such. `changed` becomes
    // true if a module that had a definition is gone. The caller holds the lock. False: the list could not be read.
    bool read(uintptr_t pc, uint32_t generation, bool& changed);

    // Gives the module its definition. The caller holds the lock. False: no room in the table of definitions.
    bool resolve(Module& module, trace::DefinitionTable& definitions);

private:
    struct Group;
    bool allocate();
    void add(const Group& group, uint32_t generation, bool& changed);
    bool still_the_same(const Module& module) const;
    const char* keep(const char* text, size_t bytes);

    std::atomic<uint32_t> count_;  // release in add(), pairs with the acquire in find()
    std::atomic<uint32_t> met_;
    uint64_t readings_;
    std::atomic<Module*> modules_;  // kMaxModules; release in allocate(), pairs with the acquire in find()
    char* line_buffer_;
    char* path_buffer_;
    char* pool_;  // rest of the current piece of memory for paths
    size_t pool_left_;
};

}  // namespace vramtrace::shim
