// SPDX-License-Identifier: Apache-2.0
#include "trace/ring/definition_table.h"

#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "tests/support/catch.h"
#include "tests/support/scratch_directory.h"
#include "trace/ring/definition_image.h"
#include "trace/ring/ring_file.h"
#include "trace/ring/system_calls.h"

using namespace vramtrace::trace;
using vramtrace::test::ScratchDirectory;

namespace {

std::string text(std::span<const std::byte> body) {
    return {reinterpret_cast<const char*>(body.data()), body.size()};
}

// A table in memory: no file, no growing.
struct MemoryTable {
    explicit MemoryTable(size_t capacity) : memory(kDefinitionFileHeaderBytes + capacity + 64) {
        void* place = memory.data();
        size_t room = memory.size();
        std::align(64, memory.size() - 64, place, room);
        file = static_cast<DefinitionFileHeader*>(place);
        file->tail = kFirstRecord;
        file->capacity = capacity;
        std::memset(static_cast<void*>(&table), 0, sizeof table);
        table.attach(file, nullptr, &full);
    }
    std::span<const std::byte> image() const {
        return {reinterpret_cast<const std::byte*>(file) + kDefinitionFileHeaderBytes, file->tail.load()};
    }
    std::vector<char> memory;
    DefinitionFileHeader* file = nullptr;
    std::atomic<uint64_t> full{0};
    DefinitionTable table;
};

struct FileTable {
    explicit FileTable(const std::string& path, size_t maximum, Space space = {}) : path_(path) {
        std::memset(static_cast<void*>(&table), 0, sizeof table);
        error = create_definitions(path.c_str(), ProcessIdentity{}, maximum, space, file, facts);
        if (error == 0) table.attach(file, &facts, &full);
    }
    std::string path_;
    DefinitionFileHeader* file = nullptr;
    DefinitionFileFacts facts;
    std::atomic<uint64_t> full{0};
    DefinitionTable table;
    int error = 0;
};

DefinitionId append(DefinitionTable& table, const std::string& body) {
    return table.append(DefinitionKind::String, {{body.data(), body.size()}});
}

}  // namespace

TEST_CASE("what was appended is read back, and nothing else") {
    MemoryTable memory(4096);
    const DefinitionId one = append(memory.table, "one");
    const DefinitionId two = memory.table.append(
        DefinitionKind::Fact, {{"key", 4}, {nullptr, 0}, {"a value that is longer than a line", 34}});
    REQUIRE(one == 1);
    REQUIRE(two == 3);
    REQUIRE(append(memory.table, "") == 0);
    REQUIRE(memory.full == 0);
    const DefinitionImage image(memory.image());
    REQUIRE(text(image.body(one, DefinitionKind::String)) == "one");
    REQUIRE(text(image.body(two, DefinitionKind::Fact)) == std::string("key\0a value that is longer than a line", 38));
    REQUIRE(image.body(one, DefinitionKind::Fact).empty());
    for (const DefinitionId bad : {0U, 2U, 4U, 5U, 6U, 7U, 100U, 0xffffffffU}) {
        CHECK(image.body(bad, DefinitionKind::String).empty());
    }
    REQUIRE(text(memory.table.body(one)) == "one");
    REQUIRE(memory.table.kind(two) == DefinitionKind::Fact);
    REQUIRE(memory.table.body(1000).empty());
}

TEST_CASE("a full table answers 0 and counts") {
    MemoryTable memory(256);
    unsigned made = 0;
    while (append(memory.table, "0123456789") != 0) ++made;
    REQUIRE(made == (256 - kFirstRecord) / 32);
    REQUIRE(memory.full == 1);
    REQUIRE(append(memory.table, "0123456789") == 0);
    REQUIRE(memory.full == 2);
    const std::string huge(kMaxDefinitionBytes + 1, 'x');
    REQUIRE(append(memory.table, huge) == 0);
    REQUIRE(memory.full == 3);
}

TEST_CASE("several threads append, a scanner follows: each record once and whole") {
    MemoryTable memory(32U << 20);
    constexpr unsigned kThreads = 4;
    constexpr unsigned kEach = 50'000;
    std::vector<std::vector<DefinitionId>> ids(kThreads);
    std::atomic<unsigned> running{kThreads};
    std::vector<std::thread> threads;
    for (unsigned thread = 0; thread < kThreads; ++thread) {
        threads.emplace_back([&, thread] {
            for (unsigned i = 0; i < kEach; ++i) {
                const std::string body = std::to_string(thread) + ":" + std::to_string(i) + std::string(i % 50, '.');
                ids[thread].push_back(append(memory.table, body));
            }
            --running;
        });
    }
    std::map<DefinitionId, std::string> seen;
    DefinitionScanner scanner;
    uint64_t doubled = 0;
    for (bool over = false; !over;) {
        over = running == 0;
        for (;;) {
            const auto image = memory.image();
            const RecordView record = scanner.next(image);
            if (record.state != RecordState::Good) break;
            doubled += !seen.emplace(record.id, text(record.body)).second;
        }
    }
    for (auto& thread : threads) thread.join();
    REQUIRE(doubled == 0);
    REQUIRE(scanner.damaged() == 0);
    REQUIRE(scanner.forgotten() == 0);
    REQUIRE(scanner.holes() == 0);
    REQUIRE(seen.size() == kThreads * kEach);
    for (unsigned thread = 0; thread < kThreads; ++thread) {
        for (unsigned i = 0; i < kEach; ++i) {
            const std::string body = std::to_string(thread) + ":" + std::to_string(i) + std::string(i % 50, '.');
            if (seen[ids[thread][i]] != body) FAIL("record " << ids[thread][i] << " is not " << body);
        }
    }
}

TEST_CASE("a record that is never committed is a hole of known length") {
    MemoryTable memory(4096);
    append(memory.table, "before");
    const DefinitionId id = append(memory.table, "interrupted");
    append(memory.table, "after");
    auto* header = reinterpret_cast<DefinitionHeader*>(reinterpret_cast<char*>(memory.file) +
                                                       kDefinitionFileHeaderBytes + size_t{id} * kDefinitionAlignment);
    header->commit = 0;
    std::vector<std::string> seen;
    const DefinitionImage image(memory.image());
    image.for_each([&](DefinitionId, DefinitionKind, std::span<const std::byte> body) { seen.push_back(text(body)); });
    REQUIRE(seen == std::vector<std::string>{"before", "after"});

    DefinitionScanner scanner;
    REQUIRE(text(scanner.next(memory.image()).body) == "before");
    REQUIRE(text(scanner.next(memory.image()).body) == "after");
    REQUIRE(scanner.next(memory.image()).state == RecordState::End);
    REQUIRE(scanner.holes() == 1);
    header->commit = kDefinitionCommitted;
    REQUIRE(text(scanner.next(memory.image()).body) == "interrupted");
    REQUIRE(scanner.next(memory.image()).state == RecordState::End);
    REQUIRE(scanner.holes() == 0);
}

TEST_CASE("damage is skipped, wherever it lies") {
    MemoryTable memory(8192);
    std::vector<DefinitionId> ids;
    for (unsigned i = 0; i < 50; ++i) ids.push_back(append(memory.table, "record number " + std::to_string(i)));
    std::vector<std::byte> bytes(memory.image().begin(), memory.image().end());
    for (size_t at = 0; at < bytes.size(); ++at) {
        for (const auto damage : {std::byte{0xff}, std::byte{0x01}}) {
            const std::byte old = bytes[at];
            bytes[at] ^= damage;
            const DefinitionImage image(bytes);
            unsigned seen = 0, wrong = 0;
            image.for_each([&](DefinitionId id, DefinitionKind, std::span<const std::byte> body) {
                ++seen;
                wrong += id % 2 == 0 || !text(body).starts_with("record number ");
            });
            if (seen < 49 || seen > 50 || wrong != 0)
                FAIL("byte " << at << ": " << seen << " seen, " << wrong << " wrong");
            bytes[at] = old;
        }
    }
    for (size_t cut = 0; cut < bytes.size(); ++cut) {  // a torn tail
        const DefinitionImage image(std::span<const std::byte>(bytes).first(cut));
        unsigned seen = 0;
        image.for_each([&](DefinitionId, DefinitionKind, std::span<const std::byte>) { ++seen; });
        if (seen + 1 < cut / 48 || seen > cut / 32) FAIL("cut at " << cut << ": " << seen);
    }
}

TEST_CASE("the file grows in steps, keeps no descriptor and is what another process reads") {
    const ScratchDirectory scratch;
    const std::string path = scratch.file("x.1.2.0.defs");
    const int lowest_before = dup(0);
    close(lowest_before);
    FileTable written(path, 8U << 20);
    REQUIRE(written.error == 0);
    struct stat facts {};
    REQUIRE(stat(path.c_str(), &facts) == 0);
    REQUIRE((facts.st_mode & 0777) == 0600);
    DefinitionFile file;
    REQUIRE(file.open(path.c_str()) == OpenError::None);
    const std::string body(1000, 'b');
    std::vector<DefinitionId> ids;
    errno = 4242;
    for (unsigned i = 0; i < 6000; ++i) ids.push_back(append(written.table, body + std::to_string(i)));
    REQUIRE(errno == 4242);
    REQUIRE(written.full == 0);
    REQUIRE(written.file->capacity > DefinitionTable::kGrowthStep);
    const int lowest_after = dup(0);
    close(lowest_after);
    REQUIRE(lowest_after <= lowest_before + 1);  // one is the reader's above
    file.refresh();
    const DefinitionImage image(file.image());
    for (unsigned i = 0; i < 6000; ++i) {
        if (text(image.body(ids[i], DefinitionKind::String)) != body + std::to_string(i)) FAIL("record " << i);
    }
    while (append(written.table, body) != 0) {
    }
    REQUIRE(written.full == 1);
    REQUIRE(written.file->capacity == 8U << 20);
}

TEST_CASE("threads that need room at the same time grow the file once") {
    const ScratchDirectory scratch;
    FileTable written(scratch.file("x.1.2.0.defs"), 64U << 20);
    REQUIRE(written.error == 0);
    std::vector<std::thread> threads;
    std::atomic<unsigned> refused{0};
    for (unsigned thread = 0; thread < 4; ++thread) {
        threads.emplace_back([&] {
            const std::string body(500, 'x');
            for (unsigned i = 0; i < 20'000; ++i) refused += append(written.table, body) == 0;
        });
    }
    for (auto& thread : threads) thread.join();
    REQUIRE(refused == 0);
    unsigned seen = 0;
    DefinitionFile file;
    REQUIRE(file.open(written.path_.c_str()) == OpenError::None);
    DefinitionImage(file.image()).for_each([&](DefinitionId, DefinitionKind, std::span<const std::byte>) { ++seen; });
    REQUIRE(seen == 80'000);
}

TEST_CASE("a file that another one has taken the name of is left alone") {
    const ScratchDirectory scratch;
    const std::string path = scratch.file("x.1.2.0.defs");
    FileTable written(path, 8U << 20);
    REQUIRE(written.error == 0);
    SECTION("deleted") {
        REQUIRE(unlink(path.c_str()) == 0);
    }
    SECTION("replaced") {
        REQUIRE(unlink(path.c_str()) == 0);
        std::ofstream(path) << "somebody's thesis";
    }
    const std::string body(1000, 'x');
    unsigned made = 0;
    while (append(written.table, body) != 0) ++made;
    REQUIRE(made >= 1000);
    REQUIRE(written.full == 1);
    struct stat facts {};
    if (stat(path.c_str(), &facts) == 0) REQUIRE(facts.st_size == 17);
}

TEST_CASE("RLIMIT_FSIZE ends the growth without a signal") {
    const ScratchDirectory scratch;
    const std::string path = scratch.file("x.1.2.0.defs");
    const pid_t child = fork();
    if (child == 0) {
        const rlimit limit{3U << 20, 3U << 20};
        setrlimit(RLIMIT_FSIZE, &limit);
        FileTable written(path, 64U << 20);
        if (written.error != 0) _exit(1);
        const std::string body(1000, 'x');
        unsigned made = 0;
        while (append(written.table, body) != 0) ++made;
        _exit(written.full == 1 && made > 1500 && made < 3000 ? 0 : 2);
    }
    int status = 0;
    waitpid(child, &status, 0);
    REQUIRE(WIFEXITED(status));
    REQUIRE(WEXITSTATUS(status) == 0);
}

TEST_CASE("little address space: less is mapped") {
    const ScratchDirectory scratch;
    const std::string path = scratch.file("x.1.2.0.defs");
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    WARN("left out: sanitizers need the address space");
#else
    const pid_t child = fork();
    if (child == 0) {
        const rlimit limit{512U << 20, 512U << 20};
        setrlimit(RLIMIT_AS, &limit);
        FileTable written(path, size_t{4} << 30);
        _exit(written.error == 0 && written.facts.maximum_bytes < 512U << 20 && append(written.table, "x") != 0 ? 0
                                                                                                                : 1);
    }
    int status = 0;
    waitpid(child, &status, 0);
    REQUIRE(WIFEXITED(status));
    REQUIRE(WEXITSTATUS(status) == 0);
#endif
}
