// SPDX-License-Identifier: Apache-2.0
#include "shim/capture/cfi_rows.h"

#include <atomic>
#include <memory>
#include <random>
#include <thread>

#include "tests/support/catch.h"

using namespace vramtrace;
using shim::FrameRules;
using shim::RegisterRule;
using shim::Row;
using shim::RowKind;

namespace {

FrameRules usual() {
    FrameRules rules;
    rules.cfa_register = shim::kRsp;
    rules.cfa_offset = 48;
    rules.rules[FrameRules::index_of(shim::kReturn)].kind = RegisterRule::AtCfa;
    rules.rules[FrameRules::index_of(shim::kReturn)].offset = -8;
    return rules;
}

Row packed(const FrameRules& rules, uintptr_t pc = 0x1000) {
    Row row;
    shim::pack_rules(rules, pc, row);
    return row;
}

shim::Expression of(const std::vector<uint8_t>& bytes) {
    return {reinterpret_cast<uintptr_t>(bytes.data()), static_cast<uint32_t>(bytes.size())};
}

// A row that can be told from its key alone.
Row row_of(uintptr_t pc, uint64_t epoch) {
    Row row;
    row.frame = pc * 3 + epoch;
    row.set(RowKind::Offset, shim::kRbp, static_cast<int32_t>(pc ^ epoch));
    row.saves = (pc * 7 + epoch) & 0xffffffffffffULL;
    return row;
}

}  // namespace

TEST_CASE("usual rules fit into a row", "[capture][rows]") {
    FrameRules rules = usual();
    rules.rules[FrameRules::index_of(shim::kRbp)].kind = RegisterRule::AtCfa;
    rules.rules[FrameRules::index_of(shim::kRbp)].offset = -16;
    rules.rules[FrameRules::index_of(shim::kR12)].kind = RegisterRule::AtCfa;
    rules.rules[FrameRules::index_of(shim::kR12)].offset = -127 * 8;
    const Row row = packed(rules);
    CHECK(row.kind() == RowKind::Offset);
    CHECK(row.cfa_register() == shim::kRsp);
    CHECK(row.offset() == 48);
    CHECK(row.save(0) == 2);
    CHECK(row.save(1) == 0);
    CHECK(row.save(2) == 127);
    rules.cfa_offset = -16;
    CHECK(packed(rules).offset() == -16);
}

TEST_CASE("what does not fit is slow, and said so", "[capture][rows]") {
    FrameRules rules = usual();
    rules.rules[FrameRules::index_of(shim::kReturn)].offset = -16;
    CHECK(packed(rules).kind() == RowKind::Slow);
    rules = usual();
    rules.rules[FrameRules::index_of(shim::kRbx)].kind = RegisterRule::AtCfa;
    rules.rules[FrameRules::index_of(shim::kRbx)].offset = -128 * 8;
    CHECK(packed(rules).kind() == RowKind::Slow);
    rules.rules[FrameRules::index_of(shim::kRbx)].offset = -12;
    CHECK(packed(rules).kind() == RowKind::Slow);
    rules = usual();
    rules.cfa_offset = 1LL << 40;
    CHECK(packed(rules).kind() == RowKind::Slow);
    rules = usual();
    rules.rules[FrameRules::index_of(shim::kRsp)].kind = RegisterRule::CfaPlus;
    CHECK(packed(rules).kind() == RowKind::Slow);
    rules = usual();
    rules.rules[FrameRules::index_of(shim::kReturn)].kind = RegisterRule::Undefined;
    CHECK(packed(rules).kind() == RowKind::LastFrame);
    rules.signal_frame = true;
    CHECK(packed(rules).kind() == RowKind::Signal);
}

TEST_CASE("expressions of linkers and of realigned stacks", "[capture][rows]") {
    FrameRules rules = usual();
    rules.cfa_is_expression = true;
    // rsp + 8 + ((rip & 15) >= 11) * 8
    const std::vector<uint8_t> plt = {0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x3b, 0x2a, 0x33, 0x24, 0x22};
    rules.cfa_expression = of(plt);
    CHECK(packed(rules, 0x1000).offset() == 8);
    CHECK(packed(rules, 0x100a).offset() == 8);
    CHECK(packed(rules, 0x100b).offset() == 16);
    CHECK(packed(rules, 0x100b).kind() == RowKind::Offset);
    // *(rbp − 40), *(rsp + 152) + 8
    const std::vector<uint8_t> realigned = {0x76, 0x58, 0x06}, by_hand = {0x77, 0x98, 0x01, 0x06, 0x23, 0x08};
    rules.cfa_expression = of(realigned);
    CHECK(packed(rules).kind() == RowKind::Stored);
    CHECK(packed(rules).cfa_register() == shim::kRbp);
    CHECK(packed(rules).stored_at() == -40);
    CHECK(packed(rules).stored_plus() == 0);
    rules.cfa_expression = of(by_hand);
    CHECK(packed(rules).stored_at() == 152);
    CHECK(packed(rules).stored_plus() == 8);
    // Saved at rbp − 16, at rbp.
    const std::vector<uint8_t> saved = {0x76, 0x70}, saved_at_rbp = {0x76, 0x00};
    rules.rules[1].kind = RegisterRule::AtExpression;
    rules.rules[1].expression = of(saved).address;
    rules.rules[1].bytes = 2;
    rules.rules[0].kind = RegisterRule::AtExpression;
    rules.rules[0].expression = of(saved_at_rbp).address;
    rules.rules[0].bytes = 2;
    CHECK(packed(rules).save(1) == Row::kBaseZero - 2);
    CHECK(packed(rules).save(0) == Row::kBaseZero);
    // ((CFA − 8) & −64) − 192
    const std::vector<uint8_t> vector_code = {0x38, 0x1c, 0x09, 0xc0, 0x1a, 0x0b, 0x40, 0xff, 0x22};
    rules.rules[1].expression = of(vector_code).address;
    rules.rules[1].bytes = static_cast<uint32_t>(vector_code.size());
    CHECK(packed(rules).kind() == RowKind::Slow);
}

TEST_CASE("rows are found under their epoch only", "[capture][rows]") {
    auto table = std::make_unique<shim::RowTable>();
    Row row;
    CHECK_FALSE(table->find(0x1234, 0, row));
    // A table that grows begins empty again: what is asked for often is soon back.
    size_t missing = 1;
    for (int pass = 0; pass < 6 && missing != 0; ++pass) {
        missing = 0;
        for (uintptr_t pc = 0x400000; pc < 0x400000 + 60000; pc += 3) {
            if (table->find(pc, 5, row)) continue;
            ++missing;
            table->put(pc, 5, row_of(pc, 5));
        }
    }
    size_t found = 0;
    for (uintptr_t pc = 0x400000; pc < 0x400000 + 60000; pc += 3) {
        if (!table->find(pc, 5, row)) continue;
        ++found;
        const Row expected = row_of(pc, 5);
        REQUIRE(row.frame == expected.frame);
        REQUIRE(row.rule == expected.rule);
        REQUIRE((row.saves & 0xffffffffffffULL) == expected.saves);
        REQUIRE_FALSE(table->find(pc, 6, row));
        REQUIRE_FALSE(table->find(pc, 5 + (1ULL << 17), row));
    }
    CHECK(found == 20000);
}

TEST_CASE("readers never see half a row while others replace it", "[capture][rows]") {
    auto table = std::make_unique<shim::RowTable>();
    std::atomic<bool> stop{false};
    std::atomic<uint64_t> epoch{0}, torn{0}, hits{0};
    std::vector<std::thread> threads;
    for (unsigned t = 0; t < 3; ++t) {
        threads.emplace_back([&, t] {
            std::mt19937_64 random(t);
            while (!stop.load()) {
                const uint64_t now = epoch.load();
                const uintptr_t pc = 0x700000000000 + random() % 64 * 16;
                Row row;
                if (!table->find(pc, now, row)) {
                    table->put(pc, now, row_of(pc, now));
                    continue;
                }
                hits.fetch_add(1);
                const Row expected = row_of(pc, now);
                if (row.frame != expected.frame || row.rule != expected.rule ||
                    (row.saves & 0xffffffffffffULL) != expected.saves) {
                    torn.fetch_add(1);
                }
                if (random() % 64 == 0) epoch.fetch_add(1);
            }
        });
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(400));
    stop.store(true);
    for (std::thread& thread : threads) thread.join();
    CHECK(torn.load() == 0);
    CHECK(hits.load() > 1000);
}
