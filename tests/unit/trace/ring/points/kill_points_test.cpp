// SPDX-License-Identifier: Apache-2.0
// A writer process is killed at each named point, and at random moments; what it had committed must be readable, whole.
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <memory>
#include <random>
#include <set>
#include <thread>

#include "tests/support/catch.h"
#include "tests/support/memory_segments.h"
#include "tests/support/scratch_directory.h"
#include "trace/ring/definition_image.h"
#include "trace/ring/ring_file.h"
#include "trace/ring/system_calls.h"
#include "trace/test_point.h"
#include "trace/trace_name.h"

using namespace vramtrace::trace;
using namespace vramtrace::test;

namespace {

constexpr unsigned kWriters = 2;

// What the writers say of themselves, in memory that both processes see: written AFTER the fact.
struct Said {
    std::atomic<uint64_t> written[kWriters];  // events written by writer n: 0 … written − 1
    std::atomic<uint64_t> lost[kWriters];
    std::atomic<uint64_t> defined;
    std::atomic<uint32_t> passed;  // the named point was reached that often
    std::atomic<uint32_t> gave_up;
};

const char* point_to_die_at = nullptr;
uint32_t pass_to_die_at = 0;
Said* said = nullptr;

void die_at(const char* name) {
    if (point_to_die_at == nullptr || std::strcmp(name, point_to_die_at) != 0) return;
    if (said->passed.fetch_add(1) + 1 == pass_to_die_at) syscall(SYS_kill, syscall(SYS_getpid), SIGKILL);
}

struct Job {
    std::string prefix;
    SegmentChain* chain = nullptr;
    DefinitionTable* table = nullptr;
    DefinitionFileFacts* facts = nullptr;
};

RingHeader* make_segment(void* context, uint32_t index, uint32_t slot_count) {
    char path[kMaxPath];
    ring_path(static_cast<Job*>(context)->prefix.c_str(), index, path, sizeof path);
    RingHeader* header = nullptr;
    return create_ring_segment(path, {}, index, slot_count, {}, header) == 0 ? header : nullptr;
}

bool release(void*, RingHeader* header) {
    return release_drained_slots(header);
}

template <typename T>
T* zeroed() {
    return static_cast<T*>(mmap(nullptr, sizeof(T), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
}

// The job: two threads that write events and definitions until they are killed.
[[noreturn]] void run_job(const std::string& prefix) {
    Job job{prefix, zeroed<SegmentChain>(), zeroed<DefinitionTable>(), zeroed<DefinitionFileFacts>()};
    DefinitionFileHeader* definitions = nullptr;
    char path[kMaxPath];
    suffixed_path(prefix.c_str(), suffix::kDefinitions, path, sizeof path);
    if (create_definitions(path, {}, 64U << 20, {}, definitions, *job.facts) != 0) _exit(1);
    if (!job.chain->start({make_segment, release, &job}, 64 * kSlots * sizeof(Event), kSlots)) _exit(1);
    job.table->attach(definitions, job.facts, &job.chain->first()->losses[2]);
    const auto work = [&](uint32_t writer) {
        for (uint64_t i = 0;; ++i) {
            if (i % 16 == 0) {
                const std::string body(100 + i % 1000, 'd');
                if (job.table->append(DefinitionKind::String, {{body.data(), body.size()}}) != 0) ++said->defined;
            }
            if (job.chain->write(numbered_event(writer, i, sys::monotonic_ns())) == SegmentChain::kNotWritten) {
                ++said->lost[writer];
                said->gave_up = 1;
                for (;;) pause();  // full: nothing more to see
            }
            said->written[writer].store(i + 1, std::memory_order_release);
        }
    };
    std::thread other(work, 1);
    work(0);
    _exit(1);
}

struct Found {
    uint64_t events[kWriters] = {};
    uint64_t torn = 0, disorder = 0, definitions = 0, void_tickets = 0;
    BatchEnd end = BatchEnd::Idle;
    bool readable = false;
};

Found read_what_is_left(const std::string& prefix, ReaderRole role) {
    Found found;
    const auto mode = role == ReaderRole::Collector ? FileMode::ReadWrite : FileMode::ReadOnly;
    auto files = std::make_unique<RingFiles>(prefix.c_str(), mode, false);
    if (files->open() != OpenError::None) return found;
    found.readable = true;
    RingReader reader(*files, role);
    REQUIRE(reader.open());
    std::vector<Event> batch(1000);
    uint64_t next_ticket = 0;
    do {
        const auto result = reader.next_batch(batch, 1, true);
        found.end = result.end;
        for (size_t i = 0; i < result.events; ++i) {
            const Event& event = batch[i];
            found.torn += !is_whole(event) || event.thread >= kWriters;
            // One writer's events come in its order, and none is left out.
            found.disorder += event.address != found.events[event.thread % kWriters]++ || event.sequence < next_ticket;
            next_ticket = event.sequence + 1;
        }
    } while (found.end == BatchEnd::Full);
    found.void_tickets = reader.void_tickets();
    if (reader.missing_tickets() != 0) ++found.disorder;
    DefinitionFile definitions;
    char path[kMaxPath];
    suffixed_path(prefix.c_str(), suffix::kDefinitions, path, sizeof path);
    REQUIRE(definitions.open(path) == OpenError::None);
    DefinitionImage(definitions.image()).for_each([&](DefinitionId, DefinitionKind, std::span<const std::byte> body) {
        ++found.definitions;
        for (const std::byte byte : body) found.torn += byte != std::byte{'d'};
    });
    return found;
}

void check(const Found& found) {
    CHECK(found.end == BatchEnd::Finished);
    CHECK(found.torn == 0);
    CHECK(found.disorder == 0);
    // At most the one event that each writer had committed and not yet told of.
    for (unsigned writer = 0; writer < kWriters; ++writer) {
        CHECK(found.events[writer] >= said->written[writer]);
        CHECK(found.events[writer] <= said->written[writer] + 1);
    }
    CHECK(found.definitions >= said->defined);
    CHECK(found.definitions <= said->defined + kWriters);
    CHECK(found.void_tickets <= kWriters);
}

pid_t start_job(const std::string& prefix) {
    std::memset(static_cast<void*>(said), 0, sizeof *said);
    const pid_t child = fork();
    if (child == 0) {
        test_point_reached = die_at;
        run_job(prefix);
    }
    return child;
}

struct Fixture {
    Fixture() {
        if (said == nullptr) {
            said = static_cast<Said*>(
                mmap(nullptr, sizeof(Said), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
        }
    }
};

}  // namespace

TEST_CASE_METHOD(Fixture, "killed at each point: nothing committed is lost, nothing torn is read") {
    static const char* const kPoints[] = {
        "ring.ticket",         "ring.claimed",    "ring.half_filled",  "ring.filled",          "ring.committed",
        "segment.created",     "segment.closed",  "segment.closed_at", "segment.published",    "segment.current",
        "definition.reserved", "definition.tail", "definition.filled", "definition.committed", "definition.allocated",
        "definition.grown",    "file.created",    "file.allocated",    "file.header",          "file.magic",
    };
    const auto role = GENERATE(ReaderRole::PostMortem, ReaderRole::Collector);
    for (const char* point : kPoints) {
        for (const uint32_t pass : {1U, 2U, 3U}) {
            const ScratchDirectory scratch;
            const std::string prefix = scratch.file("h.1.2.0");
            point_to_die_at = point;
            pass_to_die_at = pass;
            const pid_t job = start_job(prefix);
            int status = 0;
            waitpid(job, &status, 0);
            INFO(point << ", time " << pass);
            REQUIRE(WIFSIGNALED(status));
            REQUIRE(WTERMSIG(status) == SIGKILL);
            const Found found = read_what_is_left(prefix, role);
            // Before the first segment has its magic there is nothing to read, and nothing was recorded.
            if (!found.readable) {
                CHECK(std::strncmp(point, "file.", 5) == 0);
                CHECK(said->written[0] == 0);
                continue;
            }
            check(found);
        }
    }
}

TEST_CASE_METHOD(Fixture, "killed at random moments") {
    point_to_die_at = nullptr;
    std::mt19937 random(20240917);
    uint64_t events = 0;
    for (unsigned round = 0; round < 60; ++round) {
        const ScratchDirectory scratch;
        const std::string prefix = scratch.file("h.1.2.0");
        const pid_t job = start_job(prefix);
        usleep(3000 + random() % 20'000);
        kill(job, SIGKILL);
        int status = 0;
        waitpid(job, &status, 0);
        REQUIRE(WIFSIGNALED(status));
        const Found found = read_what_is_left(prefix, round % 2 ? ReaderRole::Collector : ReaderRole::PostMortem);
        if (!found.readable) continue;
        INFO("round " << round);
        check(found);
        events += found.events[0] + found.events[1];
    }
    CHECK(events > 10'000);  // many, however slow the machine
}

TEST_CASE_METHOD(Fixture, "job killed while a collector drains: collector and post-mortem reader together have all") {
    point_to_die_at = nullptr;
    std::mt19937 random(7);
    for (unsigned round = 0; round < 20; ++round) {
        const ScratchDirectory scratch;
        const std::string prefix = scratch.file("h.1.2.0");
        const pid_t job = start_job(prefix);
        auto files = std::make_unique<RingFiles>(prefix.c_str(), FileMode::ReadWrite, true);
        while (files->open() != OpenError::None) usleep(100);
        RingReader collector(*files, ReaderRole::Collector);
        REQUIRE(collector.open());
        std::vector<Event> batch(777);
        uint64_t seen[kWriters] = {};
        uint64_t wrong = 0, durable = 0;
        const auto take = [&](const RingReader::Batch& result) {
            for (size_t i = 0; i < result.events; ++i) {
                wrong += !is_whole(batch[i]) || batch[i].address != seen[batch[i].thread % kWriters]++;
            }
        };
        const uint64_t end = sys::monotonic_ns() + 2'000'000 + random() % 20'000'000;
        while (sys::monotonic_ns() < end) {
            collector.writable_header()->heartbeat = sys::monotonic_ns();
            take(collector.next_batch(batch, sys::monotonic_ns(), false));
            durable = collector.position();
            collector.advance_tail(durable);
        }
        // The collector dies with the job; somebody reads the rest later.
        kill(job, SIGKILL);
        waitpid(job, nullptr, 0);
        auto rest = std::make_unique<RingFiles>(prefix.c_str(), FileMode::ReadOnly, false);
        REQUIRE(rest->open() == OpenError::None);
        RingReader reader(*rest, ReaderRole::PostMortem);
        REQUIRE(reader.open());
        reader.seek(durable);
        RingReader::Batch result;
        do take(result = reader.next_batch(batch, 1, false));
        while (result.end == BatchEnd::Full);
        INFO("round " << round);
        CHECK(result.end == BatchEnd::Finished);
        CHECK(wrong == 0);
        CHECK(reader.missing_tickets() == 0);
        for (unsigned writer = 0; writer < kWriters; ++writer) {
            CHECK(seen[writer] >= said->written[writer]);
            CHECK(seen[writer] <= said->written[writer] + 1);
        }
    }
}
