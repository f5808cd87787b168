// SPDX-License-Identifier: Apache-2.0
#include "trace/ring/ring_file.h"

#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <functional>
#include <memory>

#include "tests/support/catch.h"
#include "tests/support/memory_segments.h"
#include "tests/support/scratch_directory.h"
#include "trace/ring/system_calls.h"
#include "trace/trace_name.h"

using namespace vramtrace::trace;
using namespace vramtrace::test;

namespace {

RingHeader* create(const std::string& path, int expected = 0, Space space = {}, uint32_t slots = kSlots) {
    RingHeader* header = nullptr;
    ProcessIdentity identity;
    identity.pid = 7;
    errno = 4242;
    const int error = create_ring_segment(path.c_str(), identity, 0, slots, space, header);
    REQUIRE(errno == 4242);
    REQUIRE(error == expected);
    return header;
}

// The segments of a chain as files, as the job makes them.
struct FileChain {
    explicit FileChain(const std::string& directory, uint64_t segments)
        : prefix(directory + "/h.1.2.0"), chain(std::make_unique<SegmentChain>()) {
        std::memset(static_cast<void*>(chain.get()), 0, sizeof *chain);
        const SegmentMaker maker{create, release, this};
        REQUIRE(chain->start(maker, segments * kSlots * sizeof(Event), kSlots));
    }
    static RingHeader* create(void* context, uint32_t index, uint32_t slot_count) {
        auto& self = *static_cast<FileChain*>(context);
        char path[kMaxPath];
        ring_path(self.prefix.c_str(), index, path, sizeof path);
        RingHeader* header = nullptr;
        const int error = create_ring_segment(path, {}, index, slot_count, self.space, header);
        errno = error;
        return error == 0 ? header : nullptr;
    }
    static bool release(void*, RingHeader* header) { return release_drained_slots(header); }

    std::string prefix;
    Space space;
    std::unique_ptr<SegmentChain> chain;
};

int exit_code_of(const std::function<int()>& work) {
    const pid_t child = fork();
    if (child == 0) _exit(work());
    int status = 0;
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

}  // namespace

TEST_CASE("a segment file: private, resident, exclusive, and opened by others") {
    const ScratchDirectory scratch;
    const std::string path = scratch.file("h.1.2.0.ring");
    umask(0);
    RingHeader* header = create(path);
    umask(022);
    struct stat facts {};
    REQUIRE(stat(path.c_str(), &facts) == 0);
    REQUIRE((facts.st_mode & 0777) == 0600);
    REQUIRE(static_cast<uint64_t>(facts.st_blocks) * 512 >= kSlots * sizeof(Slot));
    unsigned char resident[kSlots * sizeof(Slot) / 4096 + 1];
    REQUIRE(mincore(header, kRingHeaderBytes + kSlots * sizeof(Slot), resident) == 0);
    for (const unsigned char page : resident) REQUIRE((page & 1) == 1);
    create(path, EEXIST);

    MappedFile file;
    REQUIRE(open_ring_segment(path.c_str(), FileMode::ReadOnly, file) == OpenError::None);
    const auto view = segment_view(file);
    REQUIRE(view.header->identity.pid == 7);
    REQUIRE(view.slot_count == kSlots);
    uint64_t ticket;
    uint32_t voids = 0;
    REQUIRE(RingWriter(*header).put(numbered_event(1, 5), ticket, voids) == Put::Written);
    REQUIRE(view.slots[0].word[2] == 5);
}

TEST_CASE("a symbolic link is not followed") {
    const ScratchDirectory scratch;
    std::ofstream(scratch.file("thesis")) << "mine";
    std::filesystem::create_symlink(scratch.file("thesis"), scratch.file("h.1.2.0.ring"));
    create(scratch.file("h.1.2.0.ring"), EEXIST);
    MappedFile file;
    REQUIRE(open_ring_segment(scratch.file("h.1.2.0.ring").c_str(), FileMode::ReadOnly, file) == OpenError::NoAccess);
    REQUIRE(std::filesystem::file_size(scratch.file("thesis")) == 4);
}

TEST_CASE("headers that lie are refused, each with its own words") {
    const ScratchDirectory scratch;
    const std::string path = scratch.file("h.1.2.0.ring");
    RingHeader* header = create(path);
    OpenError expected = OpenError::None;
    SECTION("not ready") {
        std::memset(header->format.magic, 0, 8);
        expected = OpenError::NotReady;
    }
    SECTION("foreign") {
        header->format.magic[3] = 'x';
        expected = OpenError::Foreign;
    }
    SECTION("definitions") {
        std::memcpy(header->format.magic, kDefinitionMagic, 8);
        expected = OpenError::Foreign;
    }
    SECTION("byte order") {
        header->format.byte_order = 0x04030201;
        expected = OpenError::Foreign;
    }
    SECTION("word size") {
        header->format.word_bytes = 4;
        expected = OpenError::Foreign;
    }
    SECTION("newer") {
        header->format.major = 2;
        expected = OpenError::Newer;
    }
    SECTION("newer minor is read") {
        header->format.minor = 9;
        expected = OpenError::None;
    }
    SECTION("no version") {
        header->format.major = 0;
        expected = OpenError::Damaged;
    }
    SECTION("header too small") {
        header->format.header_bytes = 64;
        expected = OpenError::Damaged;
    }
    SECTION("header beyond the file") {
        header->format.header_bytes = 1U << 30;
        expected = OpenError::TooShort;
    }
    SECTION("slot size") {
        header->slot_bytes = 128;
        expected = OpenError::Damaged;
    }
    SECTION("slots no power of two") {
        header->slot_count = 1000;
        expected = OpenError::Damaged;
    }
    SECTION("no slots") {
        header->slot_count = 0;
        expected = OpenError::Damaged;
    }
    SECTION("more slots than bytes") {
        header->slot_count = 1U << 30;
        expected = OpenError::TooShort;
    }
    SECTION("cut") {
        REQUIRE(truncate(path.c_str(), 8192) == 0);
        expected = OpenError::TooShort;
    }
    SECTION("cut in the header") {
        REQUIRE(truncate(path.c_str(), 20) == 0);
        expected = OpenError::TooShort;
    }
    SECTION("empty") {
        REQUIRE(truncate(path.c_str(), 0) == 0);
        expected = OpenError::NotReady;
    }
    SECTION("gone") {
        REQUIRE(unlink(path.c_str()) == 0);
        expected = OpenError::NotFound;
    }
    MappedFile file;
    REQUIRE(open_ring_segment(path.c_str(), FileMode::ReadOnly, file) == expected);
    REQUIRE(static_cast<bool>(file) == (expected == OpenError::None));
    REQUIRE(open_error_text(expected) != nullptr);
}

TEST_CASE("RLIMIT_FSIZE refuses a segment without a signal and leaves nothing behind") {
    const ScratchDirectory scratch;
    const std::string path = scratch.file("h.1.2.0.ring");
    REQUIRE(exit_code_of([&] {
                const rlimit limit{100'000, 100'000};
                setrlimit(RLIMIT_FSIZE, &limit);
                RingHeader* header = nullptr;
                return create_ring_segment(path.c_str(), {}, 0, kSlots, {}, header) == EFBIG ? 0 : 1;
            }) == 0);
    REQUIRE_FALSE(std::filesystem::exists(path));
}

TEST_CASE("the directory's limit and the disk's floor") {
    const ScratchDirectory scratch;
    const std::string directory = scratch.path();
    Space space;
    space.directory = directory.c_str();
    space.directory_limit_bytes = 400'000;
    create(scratch.file("h.1.2.0.ring"), 0, space);
    REQUIRE(directory_bytes(directory.c_str()) >= kSlots * sizeof(Slot));
    create(scratch.file("h.1.2.0.ring.1"), EDQUOT, space);
    REQUIRE_FALSE(std::filesystem::exists(scratch.file("h.1.2.0.ring.1")));
}

TEST_CASE("a chain that may not grow says why, goes on with what it has, and grows when it may again") {
    const ScratchDirectory scratch;
    const std::string directory = scratch.path();
    FileChain job(directory, 8);
    job.space.directory = directory.c_str();
    job.space.directory_limit_bytes = 400'000;
    uint64_t number = 0;
    while (job.chain->write(numbered_event(1, number)) != SegmentChain::kNotWritten) ++number;
    REQUIRE(job.chain->first()->append_error == EDQUOT);
    REQUIRE(job.chain->first()->segments == 1);
    job.space.directory_limit_bytes = 0;
    REQUIRE(job.chain->write(numbered_event(1, number, 10)) == SegmentChain::kNotWritten);  // not for each event
    REQUIRE(job.chain->write(numbered_event(1, number, 2'000'000'000)) == number);
    REQUIRE(job.chain->first()->append_error == 0);
    REQUIRE(job.chain->first()->segments == 2);
}

TEST_CASE("a full disk refuses a segment and kills nobody") {
    const ScratchDirectory scratch;
    if (mount("tmpfs", scratch.path().c_str(), "tmpfs", 0, "size=1m") != 0) {
        WARN("left out: only root can mount a small file system");
        return;
    }
    create(scratch.file("h.1.2.0.ring"), 0, {}, 8192);         // 516 KiB
    create(scratch.file("h.1.2.0.ring.1"), ENOSPC, {}, 8192);  // no room
    create(scratch.file("h.1.2.0.ring.2"), 0, {}, 4096);       // 260 KiB fit
    REQUIRE_FALSE(std::filesystem::exists(scratch.file("h.1.2.0.ring.1")));
    // Floors: a thousandth of a file system of 1 MiB is less than what is left, a per cent is the most that is asked for.
    Space space;
    space.disk_floor_bytes = 1U << 30;
    create(scratch.file("h.1.2.0.ring.3"), 0, space, 2048);
    DefinitionFileHeader* definitions = nullptr;
    DefinitionFileFacts facts;
    REQUIRE(create_definitions(scratch.file("h.1.2.0.defs").c_str(), {}, 64U << 20, {}, definitions, facts) == ENOSPC);
    for (const auto& entry : std::filesystem::directory_iterator(scratch.path())) unlink(entry.path().c_str());
    REQUIRE(umount2(scratch.path().c_str(), MNT_DETACH) == 0);
}

TEST_CASE("a collector drains files, removes what is drained, and the job keeps writing") {
    const ScratchDirectory scratch;
    FileChain job(scratch.path(), 3);
    auto files = std::make_unique<RingFiles>(job.prefix.c_str(), FileMode::ReadWrite, true);
    REQUIRE(files->open() == OpenError::None);
    RingReader reader(*files, ReaderRole::Collector);
    REQUIRE(reader.open());
    std::vector<Event> batch(20'000);
    uint64_t number = 0, seen = 0;
    for (unsigned round = 0; round < 20; ++round) {
        for (unsigned i = 0; i < 8000; ++i) {
            REQUIRE(job.chain->write(numbered_event(1, number, round * 2'000'000'000ULL)) == number);
            ++number;
        }
        const auto result = reader.next_batch(batch, 1, false);
        for (size_t i = 0; i < result.events; ++i) REQUIRE(batch[i].address == seen++);
        reader.advance_tail(reader.position());
    }
    REQUIRE(seen == number);
    REQUIRE(reader.missing_tickets() == 0);
    REQUIRE(job.chain->first()->segments > 10);
    size_t ring_files = 0;
    for (const auto& entry : std::filesystem::directory_iterator(scratch.path())) {
        ring_files += entry.is_regular_file();
    }
    REQUIRE(ring_files <= 3);
    // Segment 0 stays, for its counters, but takes no room.
    struct stat facts {};
    REQUIRE(stat((job.prefix + ".ring").c_str(), &facts) == 0);
    REQUIRE(static_cast<uint64_t>(facts.st_blocks) * 512 < 65536);
    files->remove_all();
    REQUIRE(std::filesystem::is_empty(scratch.path()));
}

TEST_CASE("a fork's child does not inherit the mapping") {
    const ScratchDirectory scratch;
    RingHeader* header = create(scratch.file("h.1.2.0.ring"));
    REQUIRE(exit_code_of([&] {
                unsigned char resident[1];
                return mincore(header, 4096, resident) == -1 && errno == ENOMEM ? 0 : 1;
            }) == 0);
}

TEST_CASE("kinds of file systems") {
    REQUIRE(is_local_file_system("/proc"));
    REQUIRE(is_local_file_system("/nonexistent"));
    REQUIRE(free_bytes("/") > 0);
    REQUIRE(free_bytes("/nonexistent") == 0);
    REQUIRE(directory_bytes("/nonexistent") == 0);
}
