// SPDX-License-Identifier: Apache-2.0
#include "analyzer/symbolize/merged_stack.h"

#include <algorithm>
#include <random>
#include <string>

#include "tests/support/catch.h"

using namespace vramtrace::symbolize;

namespace {

struct Answer {
    std::string text;
    bool guessed;
    bool operator==(const Answer&) const = default;
};
std::ostream& operator<<(std::ostream& out, const Answer& answer) {
    return out << answer.text << (answer.guessed ? " (guessed)" : "");
}

// native, innermost first: o outside, E evaluation, t part of one, g collection, c evaluates code, m runs main(),
// p plumbing, u unnamed, s start.
// Python: letters, a capital one is the outermost of its run. The answer: Python letters and the native ones kept, with
// "." before each native one.
Answer merged(const std::string& native, const std::string& python, bool native_whole = true,
              bool python_whole = true) {
    std::vector<NativeRole> roles;
    for (const char letter : native) {
        roles.push_back(letter == 'E'   ? NativeRole::Evaluation
                        : letter == 't' ? NativeRole::EvaluationPart
                        : letter == 'g' ? NativeRole::Collection
                        : letter == 'c' ? NativeRole::EvaluatesCode
                        : letter == 'm' ? NativeRole::RunsMain
                        : letter == 'p' ? NativeRole::Plumbing
                        : letter == 'u' ? NativeRole::Unnamed
                        : letter == 's' ? NativeRole::Start
                                        : NativeRole::Outside);
    }
    std::vector<uint8_t> entered;
    for (const char letter : python) entered.push_back(letter < 'a' ? 1 : 0);
    const MergedStack stack = merge_stacks({roles, native_whole, entered, python_whole});
    Answer answer{"", stack.guessed};
    for (const MergedFrame& frame : stack.frames) {
        if (frame.python) {
            answer.text += python.at(frame.index);
        } else {
            answer.text += std::string(".") + native.at(frame.index);
        }
    }
    return answer;
}

Answer sure(const std::string& text) {
    return {text, false};
}
Answer guess(const std::string& text) {
    return {text, true};
}

}  // namespace

TEST_CASE("before 3.11 every frame has an evaluation of its own") {
    CHECK(merged("oopEppEpEpppssp", "ABC") == sure(".o.oABC"));
}

TEST_CASE("later an evaluation runs several frames") {
    CHECK(merged("opEpppssp", "abC") == sure(".oabC"));
    CHECK(merged("opEppEpssp", "aBcD") == sure(".oaBcD"));
    CHECK(merged("Epp", "aB") == sure("aB"));
}

TEST_CASE("C++ between two runs stays between them") {
    CHECK(merged("opEpxyzpEppssp", "aBcD") == sure(".oaB.x.y.zcD"));
    CHECK(merged("opExpEEpo", "ABC") == sure(".oA.xBC.o"));
}

TEST_CASE("what the interpreter's own program started stays, what started the interpreter does not") {
    CHECK(merged("oEposs", "A") == sure(".oA.o.s.s"));  // main() of an embedding program
    CHECK(merged("oEpss", "A") == sure(".oA"));
    CHECK(merged("osEpss", "A") == sure(".o.sA"));  // the C library called on the way
}

TEST_CASE("the collector's frames say why, and stay") {
    CHECK(merged("opgpEpss", "A") == sure(".o.gA"));
}

TEST_CASE("interpreters built with tail calls") {
    CHECK(merged("opttEp", "aB") == sure(".oaB"));
    CHECK(merged("optp", "aB") == sure(".oaB"));
}

TEST_CASE("without Python frames the native stack is as it was") {
    CHECK(merged("opEppssp", "") == sure(".o.p.E.p.p.s.s.p"));
    CHECK(merged("", "") == sure(""));
}

TEST_CASE("without native frames the Python stack is as it was") {
    CHECK(merged("", "aBcD", false) == sure("aBcD"));
}

TEST_CASE("cut stacks") {
    // Native: what lies outside of it comes behind.
    CHECK(merged("opEpo", "aBcD", false) == sure(".oaB.ocD"));
    CHECK(merged("ooo", "aB", false) == sure(".o.o.oaB"));
    // Python: evaluations of which no frame was recorded are left to be seen.
    CHECK(merged("opEpxpEpEpss", "aB", true, false) == sure(".oaB.x.E.E"));
    CHECK(merged("opEpxpEpEpss", "abcde", true, false) == sure(".oabcde.x.E.E"));
}

TEST_CASE("an evaluation that has only begun has no frame yet") {
    CHECK(merged("opEpxEpss", "aB") == guess(".o.E.xaB"));
}

TEST_CASE("interpreters without symbols: shared out by the number of frames, and said so") {
    CHECK(merged("ouuuss", "aBcD") == sure(".oaBcD"));  // one place only
    CHECK(merged("ouuu", "aBcD", false) == guess(".oaBcD"));
    CHECK(merged("ouuxss", "aBcD") == sure(".oaBcD.x.s.s"));
    // What lies between the program's code and main() evaluates nothing.
    CHECK(merged("ouuuuuuuxuucuuuummssp", "aBCdE") == guess(".oaBC.xdE"));
    CHECK(merged("ouuuuuuuxuuuuuuuuuuuup", "aBCdE") == guess(".oaB.xCdE"));
    CHECK(merged("ouuuxuuuss", "aBcD") == guess(".oaB.xcD"));
    CHECK(merged("ouuuuxuu", "AB") == guess(".oA.xB"));
    CHECK(merged("ouxuuuuuuuuu", "ABCDEFGHIJ") == guess(".oA.xBCDEFGHIJ"));
    CHECK(merged("ouEuxuuuuu", "ABC") == guess(".oA.xBC"));
}

TEST_CASE("evaluations that cannot be found in a whole stack") {
    CHECK(merged("opEpxpp", "ABC") == guess(".oA.xBC"));
    CHECK(merged("oxx", "aB") == guess(".o.x.xaB"));
}

TEST_CASE("whatever is recorded: every Python frame is there, both kinds in their order") {
    std::mt19937_64 random(7);
    const std::string letters = "oxEtgpus";
    for (int round = 0; round < 20000; ++round) {
        std::string native, python;
        for (size_t i = random() % 14; i > 0; --i) native += letters[random() % letters.size()];
        for (size_t i = random() % 9; i > 0; --i) python += random() % 2 == 0 ? 'a' : 'A';
        std::vector<uint8_t> entered;
        for (const char letter : python) entered.push_back(letter == 'A' ? 1 : 0);
        std::vector<NativeRole> roles;
        for (size_t i = 0; i < native.size(); ++i) roles.push_back(static_cast<NativeRole>(random() % 9));
        const MergedStack stack = merge_stacks({roles, random() % 2 == 0, entered, random() % 2 == 0});
        uint32_t next_python = 0, after_native = 0;
        size_t outside = 0;
        bool good = true;
        for (const MergedFrame& frame : stack.frames) {
            if (frame.python) {
                good &= frame.index == next_python++;
            } else {
                good &= frame.index >= after_native && frame.index < roles.size();
                after_native = frame.index + 1;
                outside += roles[frame.index] == NativeRole::Outside ? 1 : 0;
            }
        }
        good &= next_python == python.size();
        good &= outside == static_cast<size_t>(std::count(roles.begin(), roles.end(), NativeRole::Outside));
        REQUIRE(good);
    }
}
