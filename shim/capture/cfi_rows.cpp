// SPDX-License-Identifier: Apache-2.0
#include "shim/capture/cfi_rows.h"

#include <cstring>

#include "shim/arena.h"
#include "shim/capture/cfi_reader.h"
#include "shim/capture/raw_calls.h"

namespace vramtrace::shim {
namespace {

constexpr uint8_t kOpDeref = 0x06, kOpPlusUconst = 0x23, kOpBreg0 = 0x70, kOpBreg15 = 0x7f;

// What linkers write for the entries of a procedure linkage table: CFA = rsp + 8, and 8 more once the index is pushed,
// at byte `pushed` of an entry of 16.
bool plt_offset(const Expression& expression, uintptr_t pc, int32_t& offset) {
    CfiReader reader(expression.address, expression.address + expression.bytes);
    if (reader.byte() != kOpBreg0 + kRsp) return false;
    const int64_t base = reader.sleb();
    constexpr uint8_t kBreg16 = 0x80, kLit0 = 0x30, kAnd = 0x1a, kGreaterOrEqual = 0x2a, kShiftLeft = 0x24,
                      kPlus = 0x22;
    if (reader.byte() != kBreg16 || reader.byte() != 0 || reader.byte() != kLit0 + 15 || reader.byte() != kAnd)
        return false;
    const uint8_t literal = reader.byte();
    if (literal < kLit0 || literal > kLit0 + 15 || reader.byte() != kGreaterOrEqual || reader.byte() != kLit0 + 3)
        return false;
    if (reader.byte() != kShiftLeft || reader.byte() != kPlus || !reader.at_end() || !reader.good()) return false;
    offset = static_cast<int32_t>(base) + ((pc & 15) >= static_cast<unsigned>(literal - kLit0) ? 8 : 0);
    return true;
}

// "register + offset", and if `deref` is asked for "*(register + offset) [+ constant]".
bool simple_expression(uintptr_t address, uint32_t bytes, unsigned& reg, int64_t& offset, bool& deref, int64_t& plus) {
    CfiReader reader(address, address + bytes);
    const uint8_t op = reader.byte();
    if (op < kOpBreg0 || op > kOpBreg15) return false;
    reg = op - kOpBreg0;
    offset = reader.sleb();
    deref = false;
    plus = 0;
    if (reader.at_end()) return reader.good();
    if (reader.byte() != kOpDeref) return false;
    deref = true;
    if (reader.at_end()) return reader.good();
    if (reader.byte() != kOpPlusUconst) return false;
    plus = static_cast<int64_t>(reader.uleb());
    return reader.good() && reader.at_end();
}

bool pack_cfa(const FrameRules& rules, uintptr_t pc, Row& row) {
    if (!rules.cfa_is_expression) {
        if (rules.cfa_register > kR15 || rules.cfa_offset != static_cast<int32_t>(rules.cfa_offset)) return false;
        row.set(RowKind::Offset, rules.cfa_register, static_cast<int32_t>(rules.cfa_offset));
        return true;
    }
    int32_t of_plt;
    if (plt_offset(rules.cfa_expression, pc, of_plt)) {
        row.set(RowKind::Offset, kRsp, of_plt);
        return true;
    }
    unsigned reg;
    int64_t offset, plus;
    bool deref;
    if (!simple_expression(rules.cfa_expression.address, rules.cfa_expression.bytes, reg, offset, deref, plus))
        return false;
    if (!deref) {
        if (offset != static_cast<int32_t>(offset)) return false;
        row.set(RowKind::Offset, reg, static_cast<int32_t>(offset));
        return true;
    }
    constexpr int64_t kStoredLimit = 1 << 23;
    if (offset < -kStoredLimit || offset >= kStoredLimit || plus < -128 || plus > 127) return false;
    row.set(RowKind::Stored, reg,
            static_cast<int32_t>((static_cast<uint32_t>(offset) & 0xffffff) | static_cast<uint32_t>(plus) << 24));
    return true;
}

bool pack_save(const RegisterRule& rule, uint8_t& save) {
    switch (rule.kind) {
        case RegisterRule::SameValue:
            save = 0;
            return true;
        case RegisterRule::Undefined:
            save = Row::kSaveUnknown;
            return true;
        case RegisterRule::AtCfa:
            if (rule.offset % 8 != 0 || rule.offset > -8 || rule.offset < -127 * 8) return false;
            save = static_cast<uint8_t>(-rule.offset / 8);
            return true;
        case RegisterRule::AtExpression: {
            unsigned reg;
            int64_t offset, plus;
            bool deref;
            if (!simple_expression(rule.expression, rule.bytes, reg, offset, deref, plus)) return false;
            if (reg != kRbp || deref || offset % 8 != 0) return false;
            const int64_t slot = offset / 8 + Row::kBaseZero;
            if (slot < 128 || slot > 253) return false;
            save = static_cast<uint8_t>(slot);
            return true;
        }
        default:
            return false;
    }
}

}  // namespace

void pack_rules(const FrameRules& rules, uintptr_t pc, Row& row) {
    row.saves = 0;
    const RegisterRule& returns = rules.rules[FrameRules::index_of(kReturn)];
    if (rules.signal_frame) return row.set(RowKind::Signal);
    if (returns.kind == RegisterRule::Undefined) return row.set(RowKind::LastFrame);
    const bool usual_return = returns.kind == RegisterRule::AtCfa && returns.offset == -8;
    const bool usual_stack = rules.rules[FrameRules::index_of(kRsp)].kind == RegisterRule::SameValue;
    if (!usual_return || !usual_stack || !pack_cfa(rules, pc, row)) return row.set(RowKind::Slow);
    for (unsigned i = 0; i < 6; ++i) {
        uint8_t save;
        if (!pack_save(rules.rules[i], save)) return row.set(RowKind::Slow);
        row.saves |= static_cast<uint64_t>(save) << (8 * i);
    }
}

bool RowTable::grow(Slots* full) {
    const unsigned bits = full == nullptr ? kFirstBits : full->bits + 1;
    if (bits > kMostBits) return false;
    const raw::SignalsBlocked no_handler_leaves_us_here;
    uint32_t idle = 0;
    if (!growing_.compare_exchange_strong(idle, 1, std::memory_order_acquire)) return false;
    if (slots_.load(std::memory_order_acquire) == full) {
        const size_t entries = (size_t{1} << bits) + kProbes;
        auto* slots = static_cast<Slots*>(arena_allocate(sizeof(Slots) + entries * sizeof(Entry), alignof(Slots)));
        if (slots != nullptr) {
            slots->bits = bits;
            slots_.store(slots, std::memory_order_release);  // pairs with the acquire in find()
        }
    }
    const bool grown = slots_.load(std::memory_order_relaxed) != full;
    growing_.store(0, std::memory_order_release);
    return grown;
}

void RowTable::put(uintptr_t pc, uint64_t epoch, const Row& row) {
    if (!can_hold(pc)) return;
    for (;;) {
        Slots* slots = slots_.load(std::memory_order_acquire);
        if (slots == nullptr) {
            if (!grow(nullptr)) return;
            continue;
        }
        Entry* home = slots->entries() + home_of(pc, slots->bits);
        const uint64_t wanted = key_of(pc, epoch);
        Entry* place = nullptr;
        uint64_t found = 0;
        for (size_t i = 0; i < kProbes && place == nullptr; ++i) {
            found = home[i].key.load(std::memory_order_acquire);
            if (found == wanted && home[i].saves.load(std::memory_order_relaxed) >> 48 == (epoch >> 17 & 0xffff))
                return;
            if (found == 0 || (found != kBusy && (found ^ epoch) & 0x1ffff) || found == wanted) place = &home[i];
        }
        if (place == nullptr) {
            if (grow(slots)) continue;
            place = &home[(pc >> 4) % kProbes];  // as large as it gets: the newer row is the better one
            found = place->key.load(std::memory_order_acquire);
            if (found == kBusy) return;
        }
        // acquire: the words are written after the key says "busy" (the fence below), release: not needed.
        if (!place->key.compare_exchange_strong(found, kBusy, std::memory_order_acquire)) return;  // a cache: no retry
        std::atomic_thread_fence(std::memory_order_release);  // "busy" before the words; pairs with the fence in find()
        place->frame.store(row.frame, std::memory_order_relaxed);
        place->rule.store(row.rule, std::memory_order_relaxed);
        place->saves.store((row.saves & 0xffffffffffffULL) | (epoch >> 17 & 0xffff) << 48, std::memory_order_relaxed);
        place->key.store(wanted, std::memory_order_release);  // pairs with the acquire in find()
        return;
    }
}

}  // namespace vramtrace::shim
