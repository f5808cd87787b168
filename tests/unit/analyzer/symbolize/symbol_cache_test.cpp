// SPDX-License-Identifier: Apache-2.0
#include "analyzer/symbolize/symbol_cache.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>

#include "analyzer/symbolize/symbolizer.h"
#include "tests/support/catch.h"
#include "tests/support/scratch_directory.h"

using namespace vramtrace;
namespace files = std::filesystem;

namespace {

std::string shell(const std::string& command) {
    std::string text;
    FILE* pipe = popen(command.c_str(), "r");
    REQUIRE(pipe != nullptr);
    char buffer[4096];
    while (const size_t got = fread(buffer, 1, sizeof buffer, pipe)) text.append(buffer, got);
    REQUIRE(pclose(pipe) == 0);
    return text;
}

std::string content(const std::string& path) {
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

constexpr char kId[] = "00112233445566778899aabb";

// A program with debugging information and a function `named`, and a cache of its own.
struct Job {
    Job() {
        build("named", kId);
        paths.debug_directories = {scratch.file("debug")};
        paths.cache = scratch.file("home/cache/vramtrace/symbols");
        paths.cache_trouble = [this](const std::string& sentence) { troubles.push_back(sentence); };
    }
    void build(const std::string& function, const std::string& build_id) {
        std::ofstream(scratch.file("job.c"))
            << "int " << function << "(int x) { return x + 1; }\nint main(void) { return " << function << "(2); }\n";
        shell("cd " + scratch.path() + " && rm -f job && cc -O0 -g -no-pie -Wl,--build-id=0x" + build_id +
              " -o job job.c");
        address = std::stoull(shell("nm " + module.path + " | sed -n 's/ T " + function + "$//p'"), nullptr, 16) + 4;
        module.build_id = build_id;
    }
    void split_debug_file() {
        const std::string folder = scratch.file("debug/.build-id/") + module.build_id.substr(0, 2);
        files::create_directories(folder);
        shell("objcopy --only-keep-debug " + module.path + " " + folder + "/" + module.build_id.substr(2) +
              ".debug && strip " + module.path);
    }
    // As a new run of the program would.
    symbolize::SourceFrames look(const symbolize::ModuleKey& where, uint64_t at) {
        symbolize::Symbolizer symbolizer(paths);
        symbolizer.want(where, at);
        symbolizer.resolve();
        problems = symbolizer.problems();
        return symbolizer.frames(where, at);
    }
    symbolize::SourceFrames look() { return look(module, address); }
    std::string cache_file() const { return paths.cache + "/" + module.build_id + ".json"; }

    test::ScratchDirectory scratch;
    symbolize::ModuleKey module{scratch.file("job"), kId};
    symbolize::SearchPaths paths;
    uint64_t address = 0;
    std::vector<std::string> problems, troubles;
};

void check_named(const symbolize::SourceFrames& frames, const std::string& function, uint32_t line) {
    REQUIRE(frames.size() == 1);
    CHECK(frames[0].function == function);
    CHECK(frames[0].line == line);
}

symbolize::CachedModule module_of_size(size_t bytes) {
    symbolize::CachedModule module;
    for (uint64_t i = 0; i < 16; ++i) module.described[i] = {{std::string(bytes / 16, 'f'), "f.c", 1, false}};
    return module;
}

}  // namespace

TEST_CASE("what was named once is named from the cache, and no file is opened") {
    Job job;
    check_named(job.look(), "named", 1);
    REQUIRE(files::exists(job.cache_file()));
    struct stat status {};
    REQUIRE(stat(job.paths.cache.c_str(), &status) == 0);
    CHECK((status.st_mode & 0777U) == 0700);
    REQUIRE(stat(job.cache_file().c_str(), &status) == 0);
    CHECK((status.st_mode & 0777U) == 0600);

    // Of the same name and build-id, but nothing to read names from: whoever opened it would complain.
    std::ofstream(job.module.path, std::ios::trunc) << "no ELF file";
    check_named(job.look(), "named", 1);
    CHECK(job.problems.empty());
    files::remove(job.module.path);
    check_named(job.look(), "named", 1);
    CHECK(job.problems.empty());
    // The same build elsewhere.
    check_named(job.look({"/elsewhere/job", kId}, job.address), "named", 1);
    // An address that was not asked before is not answered, and that is said.
    CHECK(job.look(job.module, job.address + 0x100000).empty());
    CHECK(job.problems.size() == 1);

    job.paths.cache.clear();
    CHECK(job.look().empty());
    CHECK(job.problems.size() == 1);
    CHECK(job.troubles.empty());
}

TEST_CASE("another build keeps its own names, and a build without id has none in the cache") {
    Job job;
    check_named(job.look(), "named", 1);
    const symbolize::ModuleKey first = job.module;
    const uint64_t first_address = job.address;
    job.build("other", "ffeeddccbbaa9988");
    check_named(job.look(), "other", 1);
    check_named(job.look(first, first_address), "named", 1);  // its file is the other build's now
    CHECK(job.problems.empty());

    for (const char* id : {"", "12", "../../../etc/passwd", "ABCDEF0123456789", "0123456789abcdeg"}) {
        job.look({job.module.path, id}, job.address);
    }
    CHECK(std::distance(files::directory_iterator(job.paths.cache), {}) == 2);
}

TEST_CASE("a debug file that comes later is not hidden by a poorer answer") {
    Job job;
    shell("cd " + job.scratch.path() + " && cp job whole && strip -g job");
    check_named(job.look(), "named", 0);
    files::rename(job.module.path, job.scratch.file("symbols-only"));
    check_named(job.look(), "named", 0);  // from the cache
    CHECK(job.problems.empty());

    SECTION("by build-id") {
        files::copy_file(job.scratch.file("whole"), job.module.path);
        job.split_debug_file();
    }
    SECTION("by debug link, beside the program") {
        shell("cd " + job.scratch.path() +
              " && objcopy --only-keep-debug whole job.debug && cp symbols-only job && objcopy "
              "--add-gnu-debuglink=job.debug job");
    }
    SECTION("in the program itself") {
        files::copy_file(job.scratch.file("whole"), job.module.path);
    }
    check_named(job.look(), "named", 1);
    // And it stays when the debug file goes again.
    shell("cd " + job.scratch.path() + " && rm -rf debug job.debug && strip -o job whole");
    check_named(job.look(), "named", 1);
}

TEST_CASE("the place that a debug link names is looked at without opening the file that names it") {
    Job job;
    shell(
        "cd " + job.scratch.path() +
        " && objcopy --only-keep-debug job hidden.dbg && strip -g job && objcopy --add-gnu-debuglink=hidden.dbg job && "
        "mv hidden.dbg later");
    check_named(job.look(), "named", 0);
    const auto kept = files::last_write_time(job.cache_file());
    check_named(job.look(), "named", 0);
    CHECK(files::last_write_time(job.cache_file()) > kept);  // used, so not the first to go
    files::create_directory(job.scratch.file(".debug"));
    files::rename(job.scratch.file("later"), job.scratch.file(".debug/hidden.dbg"));
    check_named(job.look(), "named", 1);
    CHECK(job.problems.empty());
}

TEST_CASE("an address without a name is not looked up again until there is another file") {
    Job job;
    shell("cp " + job.module.path + " " + job.scratch.file("whole") + " && strip " + job.module.path);
    CHECK(job.look().empty());
    const std::string kept = content(job.cache_file());
    CHECK_THAT(kept, ContainsSubstring("\"other\":{\"0x"));
    // The size is what tells: the same again with its symbols broken would not be opened.
    const auto size = files::file_size(job.module.path);
    std::ofstream(job.module.path, std::ios::trunc) << std::string(size, 'x');
    CHECK(job.look().empty());
    CHECK(job.problems.empty());
    files::remove(job.module.path);
    files::copy_file(job.scratch.file("whole"), job.module.path);
    check_named(job.look(), "named", 1);
}

TEST_CASE("a poorer file does not take away what a better one said") {
    Job job;
    shell("strip -g " + job.module.path);
    check_named(job.look(), "named", 0);
    shell("strip " + job.module.path);
    check_named(job.look(), "named", 0);
    check_named(job.look(), "named", 0);
}

TEST_CASE("a damaged or foreign cache is no cache, is said only to who asks, and is made anew") {
    Job job;
    check_named(job.look(), "named", 1);
    const std::string good = content(job.cache_file());
    const std::string others = R"({"schema_version": 1, "build_id": "ffeeddccbbaa9988", "described": {}, "other": {}})";
    for (const std::string& text :
         {std::string(), good.substr(0, good.size() / 2), std::string("[[[["), std::string("[]"), std::string("{}"),
          others, std::string(R"({"schema_version": 99, "build_id": ")") + kId + "\"}", std::string(100000, '{'),
          std::string(9U << 20U, ' ')}) {
        job.troubles.clear();
        std::ofstream(job.cache_file(), std::ios::trunc) << text;
        check_named(job.look(), "named", 1);
        CHECK(job.problems.empty());
        CHECK(job.troubles.size() == 1);
        CHECK(content(job.cache_file()) == good);
    }
    // Sound JSON with nonsense in it.
    std::ofstream(job.cache_file(), std::ios::trunc)
        << R"({"schema_version": 1, "build_id": ")" << kId
        << R"(", "debug_link": "../../x", "files": 7, "described": {"0xq": [], "4": 3, "0x1": [7]}, "other": [1]})";
    check_named(job.look(), "named", 1);
    // A pipe is not waited for.
    files::remove(job.cache_file());
    REQUIRE(mkfifo(job.cache_file().c_str(), 0600) == 0);
    check_named(job.look(), "named", 1);
    CHECK(content(job.cache_file()) == good);
}

TEST_CASE("a cache that cannot be written costs nothing but the cache") {
    Job job;
    for (const char* directory : {"/dev/null/symbols", "/proc/vramtrace"}) {
        job.troubles.clear();
        job.paths.cache = directory;
        check_named(job.look(), "named", 1);
        CHECK(job.problems.empty());
        CHECK_FALSE(job.troubles.empty());
    }
}

TEST_CASE("a file of the cache is bounded, and drops what was not asked for first") {
    test::ScratchDirectory scratch;
    std::vector<std::string> troubles;
    symbolize::SymbolCache cache(scratch.path(), [&](const std::string& sentence) { troubles.push_back(sentence); },
                                 {20000, 1U << 20U});
    cache.write(kId, module_of_size(16000), {});
    CHECK(cache.read(kId).described.size() == 16);
    cache.write(kId, module_of_size(40000), {7, 9});
    const auto wanted = cache.read(kId).described;
    REQUIRE(wanted.size() == 2);
    CHECK(wanted.count(7) + wanted.count(9) == 2);
    std::set<uint64_t> all;
    for (uint64_t i = 0; i < 16; ++i) all.insert(i);
    cache.write(kId, module_of_size(40000), all);
    const size_t some = cache.read(kId).described.size();
    CHECK((some > 0 && some < 16));
    CHECK(files::file_size(scratch.file(std::string(kId) + ".json")) <= 20000);
    CHECK(troubles.empty());
}

TEST_CASE("the whole cache is bounded: what was not used for the longest time goes") {
    test::ScratchDirectory scratch;
    symbolize::SymbolCache cache(scratch.path(), {}, {1U << 20U, 1U << 20U});
    const auto id = [](int i) { return "00000000000000" + std::to_string(10 + i); };
    const auto name = [&](int i) { return scratch.file(id(i) + ".json"); };
    std::ofstream(scratch.file("README")) << "somebody else's";
    std::ofstream(scratch.file("aabbccdd.json-XYZXYZ.new")) << "lost";
    std::ofstream(scratch.file("aabbccdd.json-ABCABC.new")) << "being written";
    const auto now = files::file_time_type::clock::now();
    files::last_write_time(scratch.file("README"), now - std::chrono::hours(900));
    files::last_write_time(scratch.file("aabbccdd.json-XYZXYZ.new"), now - std::chrono::hours(2));
    for (int i = 0; i < 20; ++i) {
        cache.write(id(i), module_of_size(100000), {});
        files::last_write_time(name(i), now - std::chrono::hours(100 - i));
    }
    CHECK_FALSE(cache.read(id(0)).described.empty());  // used: the newest now
    cache.trim();
    uint64_t bytes = 0;
    int left = 0;
    for (int i = 0; i < 20; ++i) {
        if (!files::exists(name(i))) continue;
        ++left;
        bytes += files::file_size(name(i));
    }
    CHECK(bytes <= 1U << 20U);
    CHECK(left >= 6);
    CHECK(files::exists(name(0)));
    CHECK_FALSE(files::exists(name(1)));
    CHECK(files::exists(name(19)));
    CHECK(files::exists(scratch.file("README")));
    CHECK(files::exists(scratch.file("aabbccdd.json-ABCABC.new")));
    CHECK_FALSE(files::exists(scratch.file("aabbccdd.json-XYZXYZ.new")));
}

TEST_CASE("runs at the same time see whole files") {
    test::ScratchDirectory scratch;
    std::vector<std::string> troubles;
    std::thread writer([&] {
        symbolize::SymbolCache cache(scratch.path(), {});
        for (int i = 0; i < 200; ++i) cache.write(kId, module_of_size(static_cast<size_t>(1000 + i * 100)), {});
    });
    symbolize::SymbolCache second(scratch.path(), {});
    symbolize::SymbolCache reader(scratch.path(), [&](const std::string& sentence) { troubles.push_back(sentence); });
    for (int i = 0; i < 200; ++i) {
        second.write(kId, module_of_size(static_cast<size_t>(30000 - i * 100)), {});
        CHECK(reader.read(kId).described.size() == 16);
    }
    writer.join();
    CHECK(troubles.empty());
    CHECK(std::distance(files::directory_iterator(scratch.path()), {}) == 1);
}

TEST_CASE("where the cache lies") {
    const char* home = std::getenv("HOME");
    const std::string old_home = home != nullptr ? home : "";
    test::ScratchDirectory scratch;
    const auto directory = [](const char* cache, const char* user_home) {
        cache != nullptr ? setenv("XDG_CACHE_HOME", cache, 1) : unsetenv("XDG_CACHE_HOME");
        user_home != nullptr ? setenv("HOME", user_home, 1) : unsetenv("HOME");
        return symbolize::symbol_cache_directory();
    };
    CHECK(directory(scratch.path().c_str(), "/x") == scratch.path() + "/vramtrace/symbols");
    CHECK(directory(nullptr, scratch.path().c_str()) == scratch.path() + "/.cache/vramtrace/symbols");
    CHECK(directory("relative", scratch.path().c_str()) == scratch.path() + "/.cache/vramtrace/symbols");
    CHECK(directory("", "relative").empty());
    CHECK(directory(nullptr, nullptr).empty());
    if (geteuid() == 0) {
        REQUIRE(chown(scratch.path().c_str(), 1000, 1000) == 0);
        CHECK(directory(scratch.file("not/yet").c_str(), "/root").empty());
    }
    unsetenv("XDG_CACHE_HOME");
    old_home.empty() ? unsetenv("HOME") : setenv("HOME", old_home.c_str(), 1);
}
