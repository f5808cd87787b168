// SPDX-License-Identifier: Apache-2.0
#include "analyzer/symbolize/native_symbols.h"

#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>

#include "analyzer/symbolize/isolated_symbols.h"
#include "analyzer/symbolize/symbolizer.h"
#include "tests/support/catch.h"

using namespace vramtrace;
namespace files = std::filesystem;

namespace {

// Prints "NAME ADDRESS" where ADDRESS is what the shim would record: the return address − 1, as the file counts.
constexpr char kProgram[] = R"(#include <cstdio>
#define NOINLINE __attribute__((noinline, noclone))
#define INLINE inline __attribute__((always_inline))
extern "C" NOINLINE void mark(const char* name) {
    std::printf("%s %lx\n", name, (unsigned long)__builtin_return_address(0) - 1);
}
namespace outer {
struct Layer {
    INLINE void grow(int n) {
#line 201 "layer.cpp"
        mark("inlined");
        n += 1;
        asm volatile("" ::"r"(n));
    }
    NOINLINE void build() {
#line 301 "build.cpp"
        grow(1);
        asm volatile("");
    }
};
template <typename T> NOINLINE void plain(T) {
#line 401 "plain.cpp"
    mark("plain");
    asm volatile("");
}
}  // namespace outer
int main() {
#line 501 "main.cpp"
    outer::Layer layer;
    layer.build();
    outer::plain(3.0);
    auto lambda = [&]() __attribute__((noinline)) {
        mark("lambda");
        asm volatile("");
    };
    lambda();
}
)";

std::string shell(const std::string& command) {
    std::string text;
    FILE* pipe = popen(command.c_str(), "r");
    REQUIRE(pipe != nullptr);
    char buffer[4096];
    while (const size_t got = fread(buffer, 1, sizeof buffer, pipe)) text.append(buffer, got);
    REQUIRE(pclose(pipe) == 0);
    return text;
}

struct Fixture {
    Fixture() {
        std::string pattern = (files::temp_directory_path() / "vramtrace-symbols-XXXXXX").string();
        REQUIRE(mkdtemp(pattern.data()) != nullptr);
        directory = pattern;
        std::ofstream(directory / "program.cpp") << kProgram;
        // Not position independent: the addresses it prints are the file's own.
        shell("cd " + directory.string() +
              " && c++ -std=c++17 -O2 -g -no-pie -Wl,--build-id=sha1 -o program program.cpp");
        program = directory / "program";
        read_addresses();
        module = {program.string(), build_id_of(program)};
        // Shared libraries keep debug directories to themselves: only ours is searched.
        paths.debug_directories = {(directory / "debug").string()};
    }
    ~Fixture() { files::remove_all(directory); }

    void read_addresses() {
        char name[64];
        unsigned long address = 0;
        const std::string said = shell(program.string());
        for (const char* at = said.c_str(); std::sscanf(at, "%63s %lx", name, &address) == 2;) {
            addresses[name] = address;
            at = std::strchr(at, '\n') + 1;
        }
        REQUIRE(addresses.size() == 3);
    }
    static std::string build_id_of(const files::path& file) {
        std::string id = shell("readelf -n " + file.string() + " 2>/dev/null | sed -n 's/.*Build ID: //p'");
        id.erase(id.find_last_not_of('\n') + 1);
        return id;
    }
    files::path debug_file() const {
        return directory / "debug/.build-id" / module.build_id.substr(0, 2) / (module.build_id.substr(2) + ".debug");
    }
    void split_debug_file() const {
        files::create_directories(debug_file().parent_path());
        shell("cd " + directory.string() + " && objcopy --only-keep-debug program " + debug_file().string() +
              " && strip program");
    }

    files::path directory;
    files::path program;
    std::map<std::string, uint64_t> addresses;
    symbolize::ModuleKey module;
    symbolize::SearchPaths paths;
};

void check_all_names(symbolize::NativeSymbols& symbols, const std::map<std::string, uint64_t>& addresses) {
    const auto inlined = symbols.at(addresses.at("inlined"));
    REQUIRE(inlined.size() == 2);
    CHECK(inlined[0].function == "outer::Layer::grow(int)");
    CHECK(files::path(inlined[0].file).filename() == "layer.cpp");
    CHECK(inlined[0].line == 201);
    CHECK(inlined[0].inlined);
    CHECK(inlined[1].function == "outer::Layer::build()");
    CHECK(files::path(inlined[1].file).filename() == "build.cpp");
    CHECK(inlined[1].line == 301);
    CHECK_FALSE(inlined[1].inlined);

    const auto plain = symbols.at(addresses.at("plain"));
    REQUIRE(plain.size() == 1);
    CHECK(plain[0].function == "void outer::plain<double>(double)");
    CHECK(plain[0].line == 401);
    CHECK_FALSE(plain[0].inlined);

    const auto lambda = symbols.at(addresses.at("lambda"));
    REQUIRE(lambda.size() == 1);
    CHECK_THAT(lambda[0].function, ContainsSubstring("main::{lambda()#1}::operator()() const"));
    CHECK(lambda[0].line == 505);
}

}  // namespace

TEST_CASE("inline functions, templates and lambdas by name and line") {
    Fixture fixture;
    symbolize::NativeSymbols symbols(fixture.module, fixture.paths);
    REQUIRE(symbols.readable());
    CHECK(symbols.problem().empty());
    check_all_names(symbols, fixture.addresses);
    CHECK(symbols.at(0x10).empty());
    CHECK(symbols.at(UINT64_MAX).empty());
}

TEST_CASE("without debugging information the symbol table names functions, and without it nothing is invented") {
    Fixture fixture;
    shell("strip -g " + fixture.program.string());
    {
        symbolize::NativeSymbols symbols(fixture.module, fixture.paths);
        REQUIRE(symbols.readable());
        const auto frames = symbols.at(fixture.addresses["inlined"]);
        REQUIRE(frames.size() == 1);
        CHECK(frames[0].function == "outer::Layer::build()");
        CHECK(frames[0].line == 0);
    }
    shell("strip " + fixture.program.string());
    symbolize::NativeSymbols symbols(fixture.module, fixture.paths);
    REQUIRE(symbols.readable());
    CHECK(symbols.at(fixture.addresses["inlined"]).empty());
}

TEST_CASE("a separate debug file is found by build-id, with and without the program") {
    Fixture fixture;
    fixture.split_debug_file();
    {
        symbolize::NativeSymbols symbols(fixture.module, fixture.paths);
        REQUIRE(symbols.readable());
        check_all_names(symbols, fixture.addresses);
    }
    files::remove(fixture.program);
    symbolize::NativeSymbols symbols(fixture.module, fixture.paths);
    REQUIRE(symbols.readable());
    check_all_names(symbols, fixture.addresses);
}

TEST_CASE("a debug file of another build is refused and said") {
    Fixture fixture;
    fixture.split_debug_file();
    shell("cd " + fixture.directory.string() +
          " && c++ -std=c++17 -O1 -g -no-pie -Wl,--build-id=0xdeadbeef -o other program.cpp");
    files::remove(fixture.debug_file());
    files::copy_file(fixture.directory / "other", fixture.debug_file());
    symbolize::NativeSymbols symbols(fixture.module, fixture.paths);
    REQUIRE(symbols.readable());
    CHECK(symbols.at(fixture.addresses["plain"]).empty());
    CHECK_THAT(symbols.problem(), ContainsSubstring("another build-id"));
}

TEST_CASE("a debug file named by a debuglink lies beside the program") {
    Fixture fixture;
    shell("cd " + fixture.directory.string() +
          " && mkdir .debug && objcopy --only-keep-debug program .debug/program.dbg && "
          "strip program && objcopy --add-gnu-debuglink=.debug/program.dbg program");
    symbolize::NativeSymbols symbols(fixture.module, fixture.paths);
    REQUIRE(symbols.readable());
    check_all_names(symbols, fixture.addresses);
}

TEST_CASE("a program that was rebuilt since gives no names but a sentence") {
    Fixture fixture;
    shell("cd " + fixture.directory.string() +
          " && c++ -std=c++17 -O1 -g -no-pie -Wl,--build-id=0x0123456789abcdef -o program program.cpp");
    symbolize::NativeSymbols symbols(fixture.module, fixture.paths);
    CHECK_FALSE(symbols.readable());
    CHECK(symbols.at(fixture.addresses["plain"]).empty());
    CHECK_THAT(symbols.problem(),
               ContainsSubstring("changed since it was recorded (build-id 0123456789abcdef, recorded " +
                                 fixture.module.build_id + ")"));
}

TEST_CASE("a missing file, a pipe and a text are no ELF files") {
    Fixture fixture;
    for (const char* name : {"missing", "pipe", "program.cpp"}) {
        if (std::string(name) == "pipe") shell("mkfifo " + (fixture.directory / "pipe").string());
        symbolize::NativeSymbols symbols({(fixture.directory / name).string(), ""}, fixture.paths);
        CHECK_FALSE(symbols.readable());
        CHECK_FALSE(symbols.problem().empty());
    }
}

TEST_CASE("a damaged file costs its names, not the program") {
    Fixture fixture;
    std::ifstream in(fixture.program, std::ios::binary);
    const std::string good((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
    std::vector<uint64_t> wanted;
    for (const auto& [name, address] : fixture.addresses) wanted.push_back(address);
    const symbolize::ModuleKey damaged = {(fixture.directory / "damaged").string(), ""};
    uint64_t state = 20261130;
    for (int round = 0; round < 60; ++round) {
        std::string bytes = good;
        if (round % 3 == 0) bytes.resize(good.size() * static_cast<size_t>(round) / 60);
        for (int i = 0; i < 200 && !bytes.empty(); ++i) {
            state = state * 6364136223846793005ULL + 1442695040888963407ULL;
            bytes[(state >> 20U) % bytes.size()] = static_cast<char>(state >> 56U);
        }
        std::ofstream(damaged.path, std::ios::binary | std::ios::trunc) << bytes;
        const auto resolved = symbolize::resolve_isolated(damaged, wanted, fixture.paths, 10000);
        CHECK((resolved.readable || !resolved.problem.empty()));
    }
}

TEST_CASE("names kept in the trace serve where the binaries are not") {
    Fixture fixture;
    const std::string kept = (fixture.directory / "symbols.json").string();
    std::string why;
    {
        symbolize::Symbolizer here(fixture.paths);
        CHECK_FALSE(here.load(kept, why));
        for (const auto& [name, address] : fixture.addresses) here.want(fixture.module, address);
        here.want({"[vdso]", ""}, 0x123);
        here.resolve();
        CHECK(here.problems().empty());
        CHECK(here.known_addresses() == 4);
        CHECK(here.named_addresses() == 3);
        REQUIRE(here.save(kept, why));
    }
    files::remove(fixture.program);
    symbolize::Symbolizer elsewhere(fixture.paths);
    REQUIRE(elsewhere.load(kept, why));
    for (const auto& [name, address] : fixture.addresses) elsewhere.want(fixture.module, address);
    elsewhere.resolve();
    CHECK(elsewhere.problems().empty());
    const auto& frames = elsewhere.frames(fixture.module, fixture.addresses["inlined"]);
    REQUIRE(frames.size() == 2);
    CHECK(frames[0].function == "outer::Layer::grow(int)");
    CHECK(elsewhere.frames(fixture.module, 1).empty());

    std::ofstream(kept, std::ios::trunc) << R"({"schema_version": 99, "modules": []})";
    CHECK_FALSE(elsewhere.load(kept, why));
    CHECK_THAT(why, ContainsSubstring("newer"));
    std::ofstream(kept, std::ios::trunc)
        << R"({"schema_version": 1, "modules": [{"path": 3, "addresses": {"0xq": 1, "0x1": 2}}, 7]})";
    CHECK(elsewhere.load(kept, why));
    std::ofstream(kept, std::ios::trunc) << "[[[[";
    CHECK_FALSE(elsewhere.load(kept, why));
}
