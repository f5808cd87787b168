// SPDX-License-Identifier: Apache-2.0
#include "shim/capture/code_map.h"

#include <time.h>

#include <cstring>

#include "shim/capture/cfi_table.h"
#include "shim/capture/raw_calls.h"
#include "shim/capture/safe_memory.h"
#include "shim/capture/stack_capture.h"

namespace vramtrace::shim {
namespace {

// Not in the arena: a fork's child has the parent's modules, and its own cache is empty anyway.
std::atomic<uint64_t> unloads{0};

constexpr uint64_t kMissLasts = 100, kGeneratedLasts = 1000;  // ms

uint64_t now_ms() {
    timespec now{};
    clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
    return static_cast<uint64_t>(now.tv_sec) * 1000 + static_cast<uint64_t>(now.tv_nsec) / 1000000;
}

class Lock {
public:
    explicit Lock(std::atomic<uint32_t>& word) : word_(word) {
        // Reading the list takes a few ms in the largest processes; three threads may be before us.
        constexpr int kTries = 400;
        constexpr long kPause = 50000;
        for (int i = 0; i < kTries; ++i) {
            uint32_t free = 0;
            // acquire, pairs with the release in the destructor: we see the list as the last holder left it.
            held_ = word_.compare_exchange_strong(free, 1, std::memory_order_acquire, std::memory_order_relaxed);
            if (held_) return;
            raw::sleep_ns(kPause);
        }
    }
    ~Lock() {
        if (held_) word_.store(0, std::memory_order_release);
    }
    explicit operator bool() const { return held_; }
    Lock(const Lock&) = delete;
    Lock& operator=(const Lock&) = delete;

private:
    raw::SignalsBlocked blocked_;
    std::atomic<uint32_t>& word_;
    bool held_ = false;
};

// The code that handlers return to: mov $15, %rax (or %eax); syscall. C libraries mark it in the unwind table, others
// (language runtimes) bring a bare one.
bool is_signal_return(uintptr_t address) {
    constexpr unsigned char kLong[] = {0x48, 0xc7, 0xc0, 0x0f, 0x00, 0x00, 0x00, 0x0f, 0x05};
    constexpr unsigned char kShort[] = {0xb8, 0x0f, 0x00, 0x00, 0x00, 0x0f, 0x05};
    unsigned char code[sizeof(kLong)];
    if (!safe_copy(code, address, sizeof(code))) return false;
    return memcmp(code, kLong, sizeof(kLong)) == 0 || memcmp(code, kShort, sizeof(kShort)) == 0;
}

CfiSection section_of(const Module& module) {
    return {module.image.eh_frame_header, module.image.eh_frame_header_bytes, module.image.eh_start,
            module.image.eh_end};
}

}  // namespace

void bump_unload_epoch() {
    unloads.fetch_add(1, std::memory_order_release);  // pairs with the acquire in refresh()
}

bool CodeMap::read_modules(uintptr_t pc) {
    bool changed = false;
    const bool complete = modules_.read(pc, static_cast<uint32_t>(unloads.load(std::memory_order_relaxed)), changed);
    // release: whoever sees the new epoch also sees which modules are gone.
    if (changed) epoch_.fetch_add(1, std::memory_order_release);
    last_reading_.store(now_ms(), std::memory_order_relaxed);
    return complete;
}

bool CodeMap::refresh() {
    const uint64_t current = unloads.load(std::memory_order_acquire);
    if (unloads_seen_.load(std::memory_order_acquire) == current) [[likely]]
        return true;
    Lock lock(lock_);
    if (!lock) return false;
    if (unloads_seen_.load(std::memory_order_relaxed) == current) return true;
    if (!modules_.empty() && !read_modules(0)) return false;
    unloads_seen_.store(current, std::memory_order_release);  // pairs with the acquire above
    return true;
}

bool CodeMap::missed_lately(uintptr_t pc) const {
    const Miss& miss = misses_[(pc >> 4) % kMisses];
    return miss.pc.load(std::memory_order_relaxed) == pc && now_ms() < miss.until.load(std::memory_order_relaxed);
}

CodeMap::Found CodeMap::module_for(uintptr_t pc, trace::DefinitionTable& definitions, Module*& module) {
    module = modules_.find(pc);
    // acquire, pairs with the release in resolve(): what was read from the module is there.
    if (module != nullptr && module->definition.load(std::memory_order_acquire) != 0) return Found::Row;
    if (module == nullptr && missed_lately(pc)) return Found::Nowhere;
    Lock lock(lock_);
    if (!lock) return Found::Failed;
    if (module == nullptr) module = modules_.find(pc);
    if (module == nullptr) {
        if (!read_modules(pc)) return Found::Failed;
        module = modules_.find(pc);
    }
    if (module == nullptr) {
        Miss& miss = misses_[(pc >> 4) % kMisses];
        miss.pc.store(pc, std::memory_order_relaxed);
        miss.until.store(now_ms() + kMissLasts, std::memory_order_relaxed);
        return Found::Nowhere;
    }
    return modules_.resolve(*module, definitions) ? Found::Row : Found::NoRoom;
}

CodeMap::Found CodeMap::make_row(uintptr_t pc, trace::DefinitionTable& definitions, Row& row) {
    if (!RowTable::can_hold(pc)) return Found::Nowhere;
    const uint64_t before = epoch();
    Module* module = nullptr;
    const Found found = module_for(pc, definitions, module);
    if (found != Found::Row) return found;
    row = Row{};
    const trace::DefinitionId id = module->definition.load(std::memory_order_acquire);
    row.rule = (module->own ? Row::kOwn : 0) | (module->generated ? Row::kGenerated : 0);
    FrameRules rules;
    if (find_frame_rules(section_of(*module), pc, rules)) {
        pack_rules(rules, pc, row);
    } else {
        row.set(RowKind::Unknown);
    }
    // Two kinds of code are "returned to" at their first byte without ever having called: what handlers return to, and
    // the bottom of a stack made by hand (makecontext). The byte before belongs to something else.
    uintptr_t place = pc;
    const bool marked = row.kind() == RowKind::Signal;
    if (marked || row.kind() == RowKind::Unknown) {
        if (is_signal_return(pc + 1)) {
            place = pc + 1;
            row.set(RowKind::Signal);
        } else if (!marked && is_signal_return(pc)) {
            row.set(RowKind::Signal);
        } else if (!marked && find_frame_rules(section_of(*module), pc + 1, rules) && rules.function_start == pc + 1) {
            place = pc + 1;
            row.set(RowKind::LastFrame);
        }
    }
    if ((place - module->image.bias) >> trace::kFrameOffsetBits != 0)
        return Found::Nowhere;  // 64 GiB of generated code
    row.frame = trace::make_frame(id, place - module->image.bias);
    // Made of a module that may be gone by now: usable this once, its key is the epoch that it was looked up in.
    rows_.put(pc, before, row);
    return Found::Row;
}

bool CodeMap::rules(uintptr_t pc, FrameRules& rules) const {
    const Module* module = modules_.find(pc);
    if (module == nullptr || module->definition.load(std::memory_order_acquire) == 0) return false;
    return find_frame_rules(section_of(*module), pc, rules);
}

void CodeMap::met_generated_code() {
    if (now_ms() - last_reading_.load(std::memory_order_relaxed) > kGeneratedLasts) bump_unload_epoch();
}

}  // namespace vramtrace::shim
