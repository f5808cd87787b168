// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "shim/capture/cfi_program.h"
#include "trace/definition.h"

// WHAT IS KNOWN PER INSTRUCTION POINTER: the packed frame and how to get to the caller, 32 bytes in an open-addressed
// table that is read and written without a lock.
//
//   entry: | key: pc << 17 | epoch (17 bits) | frame | rule | saves: epoch's other 16 bits << 48 | 6 bytes |
//
//   rule:  bits 0…31 offset · 32…35 register · 36…39 kind · 40 own · 41 generated code
//   saves: a byte for each of rbp, rbx, r12…r15: where the caller's value is
//            0 unchanged · 1…127 at CFA − 8·n · 128…253 at rbp + 8·(n − 192) · 254 unknown
//
// An entry is replaced by CAS(key → kBusy), filling, key = new (release). A reader that finds its key, reads the words
// and finds the key again has read one entry whole: the key names pc and epoch, and what is said of those never changes.
namespace vramtrace::shim {

enum class RowKind : uint8_t {
    Offset,     // CFA = register + offset
    Stored,     // CFA = *(register + low 24 bits of offset) + its high 8 bits: realigned stacks
    Signal,     // the kernel's signal frame starts at rsp
    Slow,       // rules that do not fit: worked out again each time
    LastFrame,  // nobody called this function
    Unknown,    // no rules: the walk ends too early
};

struct Row {
    trace::Frame frame = 0;
    uint64_t rule = 0;
    uint64_t saves = 0;

    static constexpr uint64_t kOwn = 1ULL << 40;
    static constexpr uint64_t kGenerated = 1ULL << 41;
    static constexpr uint8_t kSaveUnknown = 254;
    static constexpr int kBaseZero = 192;

    RowKind kind() const { return static_cast<RowKind>((rule >> 36) & 0xf); }
    unsigned cfa_register() const { return (rule >> 32) & 0xf; }
    int64_t offset() const { return static_cast<int32_t>(rule); }
    int64_t stored_at() const { return static_cast<int32_t>(static_cast<uint32_t>(rule) << 8) >> 8; }
    int64_t stored_plus() const { return static_cast<int8_t>(rule >> 24); }
    bool own() const { return rule & kOwn; }
    bool generated() const { return rule & kGenerated; }
    uint8_t save(unsigned index) const { return static_cast<uint8_t>(saves >> (8 * index)); }  // order of FrameRules

    void set(RowKind kind, unsigned reg = 0, int32_t offset = 0) {
        rule = (rule & (kOwn | kGenerated)) | static_cast<uint64_t>(kind) << 36 |
               static_cast<uint64_t>(reg & 0xf) << 32 | static_cast<uint32_t>(offset);
    }
};

// Packs the rules into row.rule and row.saves; what does not fit becomes RowKind::Slow.
void pack_rules(const FrameRules& rules, uintptr_t pc, Row& row);

// Usable when zero-filled.
class RowTable {
public:
    [[gnu::always_inline]] bool find(uintptr_t pc, uint64_t epoch, Row& row) const {
        // acquire, pairs with the release in grow().
        const Slots* slots = slots_.load(std::memory_order_acquire);
        if (slots == nullptr) [[unlikely]]
            return false;
        const uint64_t wanted = key_of(pc, epoch);
        const size_t home = home_of(pc, slots->bits);
        for (size_t i = 0; i < kProbes; ++i) {
            const Entry& entry = slots->entries()[home + i];
            // acquire, pairs with the release of the key in put(): the words belong to this key or are being replaced.
            const uint64_t key = entry.key.load(std::memory_order_acquire);
            if (key == wanted) {
                row.frame = entry.frame.load(std::memory_order_relaxed);
                row.rule = entry.rule.load(std::memory_order_relaxed);
                row.saves = entry.saves.load(std::memory_order_relaxed);
                std::atomic_thread_fence(std::memory_order_acquire);  // the words before the second look at the key
                return entry.key.load(std::memory_order_relaxed) == wanted && row.saves >> 48 == (epoch >> 17 & 0xffff);
            }
            if (key == 0) return false;
        }
        return false;
    }
    void put(uintptr_t pc, uint64_t epoch, const Row& row);

    static constexpr bool can_hold(uintptr_t pc) { return pc > 1 && pc < (1ULL << 47); }

private:
    static constexpr size_t kProbes = 8;
    static constexpr unsigned kFirstBits = 14, kMostBits = 19;
    static constexpr uint64_t kBusy = 1;  // pc 0: of nobody

    struct Entry {
        std::atomic<uint64_t> key, frame, rule, saves;
    };
    static_assert(sizeof(Entry) == 32);
    struct alignas(64) Slots {
        unsigned bits;
        Entry* entries() { return reinterpret_cast<Entry*>(this + 1); }
        const Entry* entries() const { return reinterpret_cast<const Entry*>(this + 1); }
    };

    static constexpr uint64_t key_of(uintptr_t pc, uint64_t epoch) {
        return static_cast<uint64_t>(pc) << 17 | (epoch & 0x1ffff);
    }
    static constexpr size_t home_of(uintptr_t pc, unsigned bits) { return (pc * 0x9e3779b97f4a7c15ULL) >> (64 - bits); }
    bool grow(Slots* full);

    std::atomic<uint32_t> growing_;  // 1 while a thread makes a larger table; acquire/release
    std::atomic<Slots*> slots_;  // release in grow(), pairs with the acquire in find(). Old ones stay: they are small.
};

}  // namespace vramtrace::shim
