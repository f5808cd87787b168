// SPDX-License-Identifier: Apache-2.0
#include "analyzer/files/json_file.h"

#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/support/catch.h"
#include "tests/support/scratch_directory.h"

using namespace vramtrace;

namespace {

constexpr size_t kMost = 64U << 20;

JsonFile read(const std::string& path, std::string& problem) {
    nlohmann::json document;
    return read_json_object(path, kMost, document, problem);
}

JsonFile read_text(const test::ScratchDirectory& scratch, const std::string& text) {
    std::ofstream(scratch.file("x.json"), std::ios::binary) << text;
    std::string problem;
    const JsonFile result = read(scratch.file("x.json"), problem);
    CHECK(problem.empty() == (result == JsonFile::Good));
    return result;
}

std::string repeated(const std::string& piece, size_t times) {
    std::string text;
    for (size_t i = 0; i < times; ++i) text += piece;
    return text;
}

}  // namespace

TEST_CASE("an object is read whole, whatever its strings contain") {
    test::ScratchDirectory scratch;
    std::ofstream(scratch.file("x.json")) << R"({"a": "[[[{\"\\", "b": [1, {"c": 2}]})";
    nlohmann::json document;
    std::string problem;
    REQUIRE(read_json_object(scratch.file("x.json"), kMost, document, problem) == JsonFile::Good);
    CHECK(document["a"] == "[[[{\"\\");
    CHECK(document["b"][1]["c"] == 2);
    CHECK(read_text(scratch, repeated("{\"a\":", 60) + "1" + repeated("}", 60)) == JsonFile::Good);
}

TEST_CASE("what is no object, nests without end or has values without number is refused") {
    test::ScratchDirectory scratch;
    for (const char* text :
         {"", "[]", "null", "7", "{", "{}}", "]", "{\"a\": \"", "{\"a\": \"\\", "{\"a\": \"\xff\"}"}) {
        INFO(text);
        CHECK(read_text(scratch, text) == JsonFile::Bad);
    }
    CHECK(read_text(scratch, repeated("{\"a\":", 5'000'000)) == JsonFile::Bad);
    CHECK(read_text(scratch, "{\"a\":" + repeated("[", 100) + repeated("]", 100) + "}") == JsonFile::Bad);
    CHECK(read_text(scratch, "{\"a\": [" + repeated("{},", 10'000'000) + "{}]}") == JsonFile::Bad);
}

TEST_CASE("only files are read, and none is waited for") {
    test::ScratchDirectory scratch;
    std::string problem;
    CHECK(read(scratch.file("nothing"), problem) == JsonFile::Missing);
    REQUIRE(mkfifo(scratch.file("pipe").c_str(), 0600) == 0);
    std::filesystem::create_directory(scratch.file("folder"));
    std::filesystem::create_symlink("/dev/zero", scratch.file("zeros"));
    for (const char* name : {"pipe", "folder", "zeros"}) {
        CHECK(read(scratch.file(name), problem) == JsonFile::Bad);
        CHECK(problem == scratch.file(name) + " is not a file");
    }
    std::filesystem::create_symlink("loop", scratch.file("loop"));
    CHECK(read(scratch.file("loop"), problem) == JsonFile::Bad);
    std::ofstream(scratch.file("huge")) << "{}";
    std::filesystem::resize_file(scratch.file("huge"), uint64_t{1} << 40);
    CHECK(read(scratch.file("huge"), problem) == JsonFile::Bad);
    CHECK(problem == scratch.file("huge") + " is too large to be what its name says");
}
