// SPDX-License-Identifier: Apache-2.0
#include "analyzer/symbolize/python_lines.h"

#include <cstring>
#include <random>

#include "tests/support/catch.h"

using namespace vramtrace;
using symbolize::python_line;
using trace::LineTable;

namespace {

std::vector<std::byte> table(std::initializer_list<int> bytes) {
    std::vector<std::byte> made;
    for (const int byte : bytes) made.push_back(static_cast<std::byte>(byte & 0xff));
    return made;
}

// Lines at offsets 0, 2, 4, …; 0 where there is none.
std::vector<uint32_t> lines(LineTable form, const std::vector<std::byte>& bytes, uint32_t first, size_t count) {
    std::vector<uint32_t> found;
    for (size_t i = 0; i < count; ++i) found.push_back(python_line(form, bytes, first, 2 * i).value_or(0));
    return found;
}

using Lines = std::vector<uint32_t>;

}  // namespace

TEST_CASE("lnotab: pairs begin where the one before ends, and the last goes on") {
    const auto bytes = table({0, 1, 4, 2, 2, -3});
    CHECK(lines(LineTable::Lnotab, bytes, 10, 6) == Lines{11, 11, 13, 10, 10, 10});
    CHECK(lines(LineTable::Lnotab, {}, 10, 2) == Lines{10, 10});
    CHECK(lines(LineTable::Lnotab, table({255, 0, 1, 127, 0, 100}), 1, 130)[127] == 1);
    CHECK(python_line(LineTable::Lnotab, table({255, 0, 1, 127, 0, 100}), 1, 256) == 228U);
    CHECK(lines(LineTable::Lnotab, table({2, 5, 2}), 10, 3) == Lines{10, 15, 15});  // cut in a pair
}

TEST_CASE("PEP 626: pairs say how long they are; some instructions have no line") {
    const auto bytes = table({4, 1, 2, -128, 2, 0, 2, -5, 0, 7, 2, 1});
    CHECK(lines(LineTable::Pep626, bytes, 10, 7) == Lines{11, 11, 0, 11, 6, 14, 0});
    CHECK(lines(LineTable::Pep626, {}, 10, 1) == Lines{0});
}

TEST_CASE("locations: every kind of entry") {
    const auto head = [](int kind, int units) { return 0x80 | kind << 3 | (units - 1); };
    // short (columns only), one line + 2, no columns − 3, long + 100, none, then nothing
    const auto bytes = table({head(3, 1), 0x25, head(12, 2), 4, 9, head(13, 1), 7, head(14, 1), 8 | 64, 3, 0, 1, 2,
                              head(15, 1), head(0, 1), 0});
    CHECK(lines(LineTable::Location, bytes, 10, 8) == Lines{10, 12, 12, 9, 109, 0, 109, 0});
    CHECK(lines(LineTable::Location, table({5, 5}), 10, 1) == Lines{0});         // begins in the middle
    CHECK(lines(LineTable::Location, table({head(13, 1)}), 10, 1) == Lines{0});  // cut
    CHECK(lines(LineTable::Location, table({head(13, 1), 127, 127}), 10, 1) == Lines{0});
    CHECK(lines(LineTable::Location, table({head(13, 1), 63}), 10, 1) == Lines{0});  // before the first line of all
}

TEST_CASE("without a table the first line is what is known; of a newer form nothing") {
    CHECK(python_line(LineTable::None, table({1, 2, 3}), 42, 1000) == 42U);
    CHECK_FALSE(python_line(LineTable::None, {}, 0, 0));
    CHECK_FALSE(python_line(static_cast<LineTable>(77), table({1, 2}), 42, 0));
}

TEST_CASE("a code object whose lengths do not fit gives what is there") {
    trace::CodeObjectBody head;
    head.first_line = 7;
    head.form = LineTable::Lnotab;
    head.file_bytes = 4;
    head.name_bytes = UINT32_MAX;
    head.table_bytes = UINT32_MAX;
    std::vector<std::byte> body(sizeof head);
    std::memcpy(body.data(), &head, sizeof head);
    CHECK_FALSE(symbolize::PythonCode::read(std::span(body).first(sizeof head - 1)));
    for (const char letter : std::string("a.pyfn")) body.push_back(static_cast<std::byte>(letter));
    const auto code = symbolize::PythonCode::read(body);
    REQUIRE(code);
    CHECK(code->file == "a.py");
    CHECK(code->name == "fn");
    CHECK(code->table.empty());
    CHECK(code->line_at(4) == 7);
}

TEST_CASE("any bytes at all give a line that could be one, or none") {
    std::mt19937_64 random(20260101);
    size_t found = 0;
    for (int round = 0; round < 30000; ++round) {
        std::vector<std::byte> bytes(random() % 40);
        for (std::byte& byte : bytes) byte = static_cast<std::byte>(random());
        const auto form = static_cast<LineTable>(random() % 6);
        const auto first = static_cast<uint32_t>(random() >> (random() % 64));
        const uint64_t offset = random() >> (random() % 64);
        const auto line = python_line(form, bytes, first, offset);
        if (line) {
            ++found;
            const bool possible = *line > 0 && *line <= INT32_MAX;
            REQUIRE(possible);
        }
        const auto code = symbolize::PythonCode::read(bytes);
        if (code) (void)code->line_at(offset);
    }
    CHECK(found > 1000);
}
