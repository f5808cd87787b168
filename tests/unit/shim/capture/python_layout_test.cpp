// SPDX-License-Identifier: Apache-2.0
#include "shim/capture/python_layout.h"

#include <cstring>
#include <string>
#include <vector>

#include "tests/support/catch.h"

using namespace vramtrace;
using shim::PythonLayout;

namespace {

// The interpreter's own table: cookie, version, free-threaded, then offsets.
std::vector<uint64_t> debug_table(uint32_t hex, bool free_threaded = false) {
    std::vector<uint64_t> table(128, 0);
    memcpy(table.data(), "xdebugpy", 8);
    table[1] = hex;
    table[2] = free_threaded;
    return table;
}

std::string refusal(const std::vector<uint64_t>& table, uint32_t hex, PythonLayout& layout) {
    const char* why = shim::apply_debug_offsets(reinterpret_cast<uintptr_t>(table.data()), hex, layout);
    return why == nullptr ? "" : why;
}

constexpr uint32_t k3_13 = 0x030d00f0, k3_14 = 0x030e0af0;

}  // namespace

TEST_CASE("each version from 3.8 to 3.14 has its row, others have none", "[capture][python]") {
    for (unsigned minor = 0; minor < 40; ++minor) {
        PythonLayout layout;
        CAPTURE(minor);
        CHECK(shim::python_layout(static_cast<uint16_t>(0x300 | minor), layout) == (minor >= 8 && minor <= 14));
    }
    PythonLayout layout;
    CHECK_FALSE(shim::python_layout(0x207, layout));
    CHECK_FALSE(shim::python_layout(0x40a, layout));
    CHECK_FALSE(shim::python_layout(0, layout));
}

TEST_CASE("a row has all that its version needs", "[capture][python]") {
    for (unsigned minor = 8; minor <= 14; ++minor) {
        CAPTURE(minor);
        PythonLayout layout;
        REQUIRE(shim::python_layout(static_cast<uint16_t>(0x300 | minor), layout));
        for (const uint16_t field :
             {layout.thread_frame, layout.frame_code, layout.frame_previous, layout.frame_position,
              layout.code_first_line, layout.code_file, layout.code_name, layout.code_table})
            CHECK(field != PythonLayout::kNone);
        const bool old = minor <= 10;
        CHECK(layout.every_frame_entered == old);
        CHECK((layout.code_bytes != PythonLayout::kNone) == old);
        CHECK((layout.code_start == PythonLayout::kNone) == old);
        CHECK((layout.code_qualified == PythonLayout::kNone) == old);
        CHECK((layout.frame_owner == PythonLayout::kNone) == old);
        CHECK((layout.frame_entry != PythonLayout::kNone) == (minor == 11));
        CHECK((layout.code_version != PythonLayout::kNone) == (minor >= 12));
    }
}

TEST_CASE("the interpreter's own table goes before the row", "[capture][python]") {
    PythonLayout layout;
    REQUIRE(shim::python_layout(0x30e, layout));
    std::vector<uint64_t> table = debug_table(k3_14);
    table[208 / 8] = 80;   // thread_state.current_frame
    table[288 / 8] = 76;   // interpreter_frame.owner
    table[384 / 8] = 216;  // code_object.co_code_adaptive
    table[640 / 8] = 48;   // unicode_object.asciiobject_size
    CHECK(refusal(table, k3_14, layout).empty());
    CHECK(layout.thread_frame == 80);
    CHECK(layout.frame_owner == 76);
    CHECK(layout.code_start == 216);
    CHECK(layout.text_ascii == 48);
    CHECK(layout.text_compact == 64);
}

TEST_CASE("a table that is not this version's, or makes no sense, is refused", "[capture][python]") {
    PythonLayout layout;
    REQUIRE(shim::python_layout(0x30d, layout));
    CHECK(refusal(debug_table(k3_13, true), k3_13, layout) == "a free-threaded build");
    CHECK(refusal(debug_table(k3_14), k3_13, layout) == "its table of offsets is of another version");
    std::vector<uint64_t> damaged = debug_table(k3_13);
    damaged[0] = 0;
    CHECK(refusal(damaged, k3_13, layout) == "its table of offsets is not where it should be");
    std::vector<uint64_t> wild = debug_table(k3_13);
    wild[232 / 8] = 1U << 20;
    CHECK(refusal(wild, k3_13, layout) == "its table of offsets makes no sense");
    CHECK(shim::apply_debug_offsets(8, k3_13, layout) != nullptr);  // nothing is mapped there
}
