// SPDX-License-Identifier: Apache-2.0
#include "shim/capture/cfi_expression.h"

#include <random>
#include <vector>

#include "tests/support/catch.h"

using namespace vramtrace;
using shim::RegisterSet;

namespace {

bool run(const std::vector<uint8_t>& bytes, uint64_t& result, const RegisterSet& registers = {},
         const uint64_t* initial = nullptr) {
    shim::StackMemory memory{};
    return shim::evaluate({reinterpret_cast<uintptr_t>(bytes.data()), static_cast<uint32_t>(bytes.size())}, registers,
                          memory, initial, result);
}

uint64_t value(const std::vector<uint8_t>& bytes, const RegisterSet& registers = {},
               const uint64_t* initial = nullptr) {
    uint64_t result = 0;
    REQUIRE(run(bytes, result, registers, initial));
    return result;
}

}  // namespace

TEST_CASE("expressions that occur", "[capture][expression]") {
    RegisterSet registers;
    const uint64_t cfa = 0x7fff1234abcd;
    // ((CFA − 8) & −64) − 192, as vector code of libcrypto saves registers
    CHECK(value({0x38, 0x1c, 0x09, 0xc0, 0x1a, 0x0b, 0x40, 0xff, 0x22}, registers, &cfa) == ((cfa - 8) & ~63ULL) - 192);
    alignas(8) uint64_t words[4] = {1, 2, 3, 4};
    registers.set(shim::kRbp, reinterpret_cast<uint64_t>(words + 2));
    CHECK(value({0x76, 0x70, 0x06}, registers) == 1);               // *(rbp − 16)
    CHECK(value({0x76, 0x08, 0x06, 0x23, 0x08}, registers) == 12);  // *(rbp + 8) + 8
    CHECK(value({0x92, 0x06, 0x00, 0x06}, registers) == 3);         // bregx
    registers.set(shim::kReturn, 0x100c);
    registers.set(shim::kRsp, 0x5000);
    CHECK(value({0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x3b, 0x2a, 0x33, 0x24, 0x22}, registers) == 0x5010);
}

TEST_CASE("operations", "[capture][expression]") {
    CHECK(value({0x35, 0x33, 0x1c}) == 2);  // 5 − 3
    CHECK(value({0x33, 0x35, 0x1c}) == static_cast<uint64_t>(-2));
    CHECK(value({0x35, 0x33, 0x16, 0x1c}) == static_cast<uint64_t>(-2));  // swap
    CHECK(value({0x31, 0x32, 0x33, 0x17, 0x13}) == 1);                    // 1 2 3 rot → 3 1 2, drop 2
    CHECK(value({0x37, 0x12, 0x1e}) == 49);                               // dup mul
    CHECK(value({0x31, 0x32, 0x14, 0x1c, 0x22}) == 2);                    // 1 2 over − +
    CHECK(value({0x39, 0x34, 0x1b}) == 2);                                // 9 / 4
    CHECK(value({0x39, 0x34, 0x1d}) == 1);                                // 9 % 4
    CHECK(value({0x09, 0xff, 0x31, 0x26}) == ~0ULL);                      // −1 >> 1, with the sign
    CHECK(value({0x09, 0xff, 0x08, 63, 0x25}) == 1);
    CHECK(value({0x09, 0xfe, 0x19}) == 2);
    CHECK(value({0x11, 0x7f}) == ~0ULL);
    CHECK(value({0x10, 0x80, 0x01}) == 128);
    CHECK(value({0x31, 0x28, 0x01, 0x00, 0x35, 0x36}) == 6);  // 1 bra +1: skips lit5
    CHECK(value({0x2f, 0x01, 0x00, 0x35, 0x36}) == 6);
}

TEST_CASE("expressions that cannot be worked out", "[capture][expression]") {
    uint64_t result;
    CHECK_FALSE(run({}, result));
    CHECK_FALSE(run({0x22}, result));              // nothing to add
    CHECK_FALSE(run({0x76, 0x00}, result));        // rbp is not known
    CHECK_FALSE(run({0x31, 0x06}, result));        // *1
    CHECK_FALSE(run({0x30, 0x06}, result));        // *0
    CHECK_FALSE(run({0x31, 0x30, 0x1b}, result));  // by zero
    CHECK_FALSE(run({0x2f, 0xfd, 0xff}, result));  // forever
    CHECK_FALSE(run({0x2f, 0x40, 0x00}, result));  // out of the expression
    CHECK_FALSE(run({0xf0}, result));
    CHECK_FALSE(run({0x0e, 0x01}, result));                    // cut off
    CHECK_FALSE(run(std::vector<uint8_t>(40, 0x31), result));  // too deep
}

TEST_CASE("any bytes", "[capture][expression][fuzz]") {
    std::mt19937 random(5);
    RegisterSet registers;
    for (unsigned i = 0; i < shim::kRegisters; ++i) registers.set(i, random());
    size_t good = 0;
    for (int i = 0; i < 200000; ++i) {
        std::vector<uint8_t> bytes(random() % 24 + 1);
        for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(random() % 2 ? random() : 0x30 + random() % 0x60);
        uint64_t result;
        good += run(bytes, result, registers);
    }
    CHECK(good > 0);
}
