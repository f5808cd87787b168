// SPDX-License-Identifier: Apache-2.0
#include "shim/capture/python_self_test.h"

#include <random>
#include <string>

#include "tests/support/catch.h"
#include "tests/unit/shim/capture/fake_python.h"

using namespace vramtrace;
using shim::PythonLayout;

namespace {

std::string wrong(test::FakePython& python, unsigned* frames = nullptr) {
    unsigned seen = 0;
    const char* why = shim::test_python_layout(python.layout(), python.types(), python.thread_state(), seen);
    if (frames != nullptr) *frames = seen;
    return why == nullptr ? "" : why;
}

}  // namespace

TEST_CASE("frames as a version has them pass the self-test", "[capture][python]") {
    for (unsigned minor = 8; minor <= 14; ++minor) {
        CAPTURE(minor);
        test::FakePython python(minor);
        unsigned frames = 9;
        CHECK(wrong(python, &frames).empty());
        CHECK(frames == 0);  // none yet: nothing is proved
        python.run({python.code("a.py", "f", 3), python.code("b.py", "g", 1000)});
        CHECK(wrong(python, &frames).empty());
        CHECK(frames == 2);
    }
}

TEST_CASE("each thing that the self-test looks at makes it fail", "[capture][python]") {
    for (unsigned minor = 8; minor <= 14; ++minor) {
        CAPTURE(minor);
        const auto damaged = [&](auto damage) {
            test::FakePython python(minor);
            const uintptr_t code = python.code("a.py", "f", 3);
            python.run({code, code});
            damage(python, code);
            return wrong(python);
        };
        using P = test::FakePython;
        CHECK(damaged([](P&, uintptr_t) {}).empty());
        CHECK(damaged([](P& p, uintptr_t code) { p.put(code + 8, p.types().text); }) == "a frame has no code object");
        CHECK(damaged([](P& p, uintptr_t code) { p.put(code + p.layout().code_file, code); }) == "a name is not a str");
        CHECK(damaged([](P& p, uintptr_t code) { p.put(code + p.layout().code_name, uintptr_t{3}); }) ==
              "a name is not a str");
        CHECK(damaged([](P& p, uintptr_t code) { p.put(code + p.layout().code_table, code); }) ==
              "a line table is not bytes");
        CHECK(damaged([](P& p, uintptr_t code) { p.put(code + p.layout().code_first_line, -4); }) ==
              "a first line cannot be");
        CHECK(damaged([](P& p, uintptr_t code) {
                  p.put(code + p.layout().code_table, p.bytes({0xd8, 0x00, 0xd8, 0x01, 0xff, 0xff, 0xff, 0xff, 0xff,
                                                               0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}));
              }) == "a line table does not fit its code");
        CHECK(damaged([](P& p, uintptr_t) { p.put(p.frame(1) + p.layout().frame_previous, uintptr_t{5}); }) ==
              "a frame has no code object");
        CHECK(damaged([](P& p, uintptr_t) { p.set_head(0x10); }) == "a frame has no code object");
    }
}

TEST_CASE("a circle of frames ends", "[capture][python]") {
    for (unsigned minor : {8U, 11U, 12U, 14U}) {
        test::FakePython python(minor);
        const uintptr_t code = python.code("a.py", "f", 3);
        python.run({code, code});
        python.put(python.frame(1) + python.layout().frame_previous, python.frame(0));
        unsigned frames = 0;
        CHECK(wrong(python, &frames).empty());
        CHECK(frames == 64);
    }
}

TEST_CASE("no doctored layout crashes the self-test", "[capture][python]") {
    std::minstd_rand random(7);
    unsigned refused = 0;
    for (int round = 0; round < 3000; ++round) {
        test::FakePython python(8 + static_cast<unsigned>(round) % 7);
        python.run({python.code("a.py", "f", 3), python.code("b.py", "g", 7)});
        PythonLayout& layout = python.layout();
        uint16_t* fields[] = {&layout.thread_frame,   &layout.cframe_frame,   &layout.frame_code,
                              &layout.frame_previous, &layout.frame_owner,    &layout.code_file,
                              &layout.frame_position, &layout.code_name,      &layout.code_table,
                              &layout.code_start,     &layout.code_first_line};
        *fields[random() % std::size(fields)] = static_cast<uint16_t>(random() % 256);
        unsigned frames = 0;
        refused += !wrong(python, &frames).empty() || frames != 2;
    }
    CHECK(refused > 1500);
}
