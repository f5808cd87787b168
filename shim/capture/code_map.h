// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>

#include "shim/capture/cfi_rows.h"
#include "shim/capture/modules.h"

// FROM AN INSTRUCTION POINTER TO ITS ROW: the cache of rows, and behind it the list of modules and their unwind tables.
//
//   bump_unload_epoch() ─▶ unloads ─▶ refresh() at the next capture ─▶ modules compared ─▶ rows' epoch moves if one is gone
//
// The usual path is RowTable::find alone. The lock guards only what changes the list of modules; while one holds it, its
// signals are blocked, so no handler of the job (and no longjmp out of one) can run in between. Whoever cannot get it in
// time gives up the capture; nobody waits for it while the job's code runs.
namespace vramtrace::shim {

// Usable when zero-filled.
class CodeMap {
public:
    enum class Found : uint8_t {
        Row,
        Nowhere,  // no code is mapped there
        NoRoom,   // the table of definitions is full
        Failed,   // the lock or the list of mappings could not be had
    };

    // To be called before each capture: takes note of unloads. False: what is cached may be wrong and cannot be checked.
    bool refresh();

    uint64_t epoch() const {
        return epoch_.load(std::memory_order_acquire);
    }  // pairs with the release in read_modules()

    [[gnu::always_inline]] Found row(uintptr_t pc, uint64_t epoch, trace::DefinitionTable& definitions, Row& row) {
        if (rows_.find(pc, epoch, row)) [[likely]]
            return Found::Row;
        return make_row(pc, definitions, row);
    }
    // The unpacked rules of a row of kind Slow.
    bool rules(uintptr_t pc, FrameRules& rules) const;

    const ModuleList& modules() const { return modules_; }

    // Generated code comes and goes without a dlclose: from time to time the list is read again when some is met.
    void met_generated_code();

private:
    [[gnu::noinline]] Found make_row(uintptr_t pc, trace::DefinitionTable& definitions, Row& row);
    Found module_for(uintptr_t pc, trace::DefinitionTable& definitions, Module*& module);
    bool read_modules(uintptr_t pc);
    bool missed_lately(uintptr_t pc) const;

    struct Miss {
        std::atomic<uint64_t> pc, until;  // relaxed: a mixed pair costs one more reading or one frame
    };
    static constexpr size_t kMisses = 64;

    RowTable rows_;
    std::atomic<uint64_t> epoch_;
    std::atomic<uint64_t> unloads_seen_;  // release in refresh(), pairs with the acquire there
    std::atomic<uint32_t> lock_;
    std::atomic<uint64_t> last_reading_;  // ms, relaxed
    ModuleList modules_;
    Miss misses_[kMisses];
};

}  // namespace vramtrace::shim
