// SPDX-License-Identifier: Apache-2.0
#include "analyzer/collect/collector.h"

#include <atomic>
#include <cstring>
#include <filesystem>
#include <random>

#include "analyzer/input/open_input.h"
#include "tests/support/catch.h"
#include "tests/support/ring_job.h"
#include "tests/support/scratch_directory.h"
#include "trace/container/mapping_guard.h"
#include "trace/container/test_point.h"

using namespace vramtrace;
using namespace vramtrace::trace;

namespace {

const char* kill_point = nullptr;
int kill_after = 0;

void kill_at_point(const char* name) {
    if (std::strcmp(name, kill_point) == 0 && --kill_after == 0) raise(SIGKILL);
}

void no_effect(const char*) {}

volatile std::sig_atomic_t stop_asked = 0;

void run_collector(const std::string& directory, uint64_t idle_exit, uint64_t disk_limit = 0) {
    collect::CollectorOptions options;
    options.directory = directory;
    options.idle_exit = idle_exit;
    options.disk_limit_bytes = disk_limit;
    options.disk_floor_bytes = 0;
    signal(SIGTERM, [](int) { stop_asked = 1; });
    collect::Collector(options).run(stop_asked);
}

constexpr uint64_t kSoon = 30'000'000;
constexpr uint64_t kLong = 60'000'000'000;

std::vector<std::string> files_with(const std::string& directory, const std::string& part) {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(directory)) {
        const std::string name = entry.path().filename().string();
        if (name.find(part) != std::string::npos) names.push_back(name);
    }
    return names;
}

// All events of the job are in the directory's trace, each once, in order, with their definitions.
SourceStatus check_trace(const std::string& directory, test::Job& job, bool expect_removed) {
    if (expect_removed) {
        CHECK(files_with(directory, ".ring").empty());
        CHECK(files_with(directory, ".defs").empty());
    }
    auto input = input::open_input(directory);
    REQUIRE(input.processes.size() == 1);
    const auto source = input.processes[0].open();
    test::JobChecker checker;
    const bool right = checker.read_all(*source);
    INFO(checker.problem());
    REQUIRE(right);
    const bool complete = checker.has_all(job.progress());
    INFO(checker.problem());
    CHECK(complete);
    CHECK(source->status().missing_tickets == 0);
    // Counted there before the job could count it itself.
    const uint64_t no_room = source->status().losses[static_cast<size_t>(Loss::RingFull)];
    CHECK(no_room >= job.progress().lost.load());
    CHECK(no_room <= job.progress().lost.load() + 16);
    return source->status();
}

}  // namespace

TEST_CASE("a job that ends leaves a complete container and no ring") {
    test::ScratchDirectory scratch;
    test::JobPlan plan;
    plan.directory = scratch.path();
    plan.threads = 3;
    plan.events_per_thread = 20000;
    test::Child collector([&] { run_collector(scratch.path(), kSoon * 10); });
    test::Job job(plan);
    job.process().reap();
    collector.reap();
    const SourceStatus status = check_trace(scratch.path(), job, true);
    CHECK(status.end == SourceStatus::End::Vanished);
    CHECK(status.end_value == -1);
    CHECK(status.end_time > 0);
    CHECK_FALSE(status.running);
    CHECK(status.warnings.empty());
    CHECK(job.written() == 60000);
}

TEST_CASE("killed at every point, a collector loses nothing and repeats nothing") {
    const char* points[] = {"lock taken",
                            "container created",
                            "container header written",
                            "container torn tail cut",
                            "block sealed",
                            "block half written",
                            "block written",
                            "batch read",
                            "definitions written",
                            "events written",
                            "tail advanced",
                            "end written",
                            "ring removed"};
    for (const char* point : points) {
        for (const int nth : {1, 2, 5}) {
            INFO(point << " " << nth);
            test::ScratchDirectory scratch;
            test::JobPlan plan;
            plan.directory = scratch.path();
            plan.events_per_thread = 2000;
            plan.slot_count = 1024;
            test::Job job(plan);
            const bool needs_file = std::strcmp(point, "container torn tail cut") == 0;
            if (needs_file) {
                test::Child first([&] {
                    kill_point = "block half written";
                    kill_after = 2;
                    test_point_hook = kill_at_point;
                    run_collector(scratch.path(), kSoon);
                });
                first.reap();
            }
            {
                test::Child killed([&] {
                    kill_point = point;
                    kill_after = nth;
                    test_point_hook = kill_at_point;
                    run_collector(scratch.path(), kSoon);
                });
                const int status = killed.reap();
                if (nth == 1) CHECK(WIFSIGNALED(status));  // the point was reached at all
            }
            job.process().reap();
            {
                test::Child second([&] {
                    test_point_hook = no_effect;
                    run_collector(scratch.path(), kSoon);
                });
                second.reap();
            }
            // After "ring removed" there may be definitions left for the next one to tidy up.
            check_trace(scratch.path(), job, std::strcmp(point, "ring removed") != 0);
        }
    }
}

TEST_CASE("collectors killed at random under a busy job, which is then killed too") {
    std::mt19937 random(2024);
    for (int round = 0; round < 6; ++round) {
        test::ScratchDirectory scratch;
        test::JobPlan plan;
        plan.directory = scratch.path();
        plan.threads = 3;
        plan.slot_count = 4096;
        plan.pause_every = 16;
        plan.pause_microseconds = 200;
        test::Job job(plan);
        for (int life = 0; life < 6; ++life) {
            test::Child collector([&] { run_collector(scratch.path(), kLong); });
            usleep(5000 + random() % 120000);
            collector.kill_and_reap();
            usleep(random() % 20000);
        }
        job.process().kill_and_reap();
        INFO("round " << round);
        // First with both dead, from container and ring …
        const SourceStatus post_mortem = check_trace(scratch.path(), job, false);
        CHECK(post_mortem.end == SourceStatus::End::Vanished);
        // … then completed by one more collector.
        test::Child collector([&] { run_collector(scratch.path(), kSoon); });
        collector.reap();
        check_trace(scratch.path(), job, true);
    }
}

TEST_CASE("a report on a running job sees what was written so far, with and without a collector") {
    test::ScratchDirectory scratch;
    test::JobPlan plan;
    plan.directory = scratch.path();
    plan.slot_count = 2048;
    plan.pause_every = 16;
    plan.pause_microseconds = 1500;  // each look reads all from the beginning
    test::Job job(plan);
    const auto look = [&] {
        uint64_t before[16];
        for (int i = 0; i < 16; ++i) before[i] = job.progress().written[i].load();
        auto input = input::open_input(scratch.path());
        REQUIRE(input.processes.size() == 1);
        const auto source = input.processes[0].open();
        test::JobChecker checker;
        const bool right = checker.read_all(*source);
        INFO(checker.problem());
        REQUIRE(right);
        for (uint32_t i = 0; i < 16; ++i) CHECK(checker.of_thread(i) >= before[i]);
        CHECK(source->status().running);
        CHECK(source->status().end == SourceStatus::End::Running);
        CHECK(source->status().missing_tickets == 0);
        CHECK(source->status().warnings.empty());
    };
    usleep(20000);
    look();
    {
        test::Child collector([&] { run_collector(scratch.path(), kLong); });
        for (int i = 0; i < 25; ++i) {
            usleep(20000);
            look();
        }
    }
    look();
    test::Child collector([&] { run_collector(scratch.path(), kLong); });
    usleep(100000);
    job.process().kill_and_reap();
    // At once: the collector is completing it just now.
    const SourceStatus status = check_trace(scratch.path(), job, false);
    CHECK(status.end == SourceStatus::End::Vanished);
}

TEST_CASE("SIGTERM: everything is written within a second, the ring stays for the next collector") {
    test::ScratchDirectory scratch;
    test::JobPlan plan;
    plan.directory = scratch.path();
    plan.events_per_thread = 5000;
    plan.wait_at_end = true;
    test::Job job(plan);
    test::Child collector([&] { run_collector(scratch.path(), kLong); });
    job.wait_done();
    usleep(100000);  // the collector's first look
    const uint64_t asked = test::monotonic();
    kill(collector.pid(), SIGTERM);
    const int status = collector.reap();
    CHECK(WIFEXITED(status));
    CHECK(test::monotonic() - asked < 1'000'000'000);
    CHECK_FALSE(files_with(scratch.path(), ".ring").empty());
    // The container alone has all of it.
    ContainerReader reader(scratch.file(files_with(scratch.path(), ".trace").at(0)));
    test::JobChecker checker;
    const bool right = checker.read_all(reader);
    INFO(checker.problem());
    CHECK(right);
    CHECK(checker.events() == 10000);
}

TEST_CASE("only one collector works in a directory") {
    test::ScratchDirectory scratch;
    const ProcessIdentity machine = this_machine();
    CHECK_FALSE(CollectorLock::held(scratch.path(), machine));
    test::JobPlan plan;
    plan.directory = scratch.path();
    plan.wait_at_end = true;
    plan.events_per_thread = 1000;
    test::Job job(plan);
    std::vector<std::unique_ptr<test::Child>> collectors;
    for (int i = 0; i < 4; ++i) {
        collectors.push_back(std::make_unique<test::Child>([&] {
            collect::CollectorOptions options;
            options.directory = scratch.path();
            options.lock_patience = 50'000'000;
            _exit(collect::Collector(options).run(stop_asked) ? 0 : 7);
        }));
    }
    usleep(400000);
    int at_work = 0;
    for (auto& collector : collectors) at_work += collector->gone() ? 0 : 1;
    CHECK(at_work == 1);
    CHECK(CollectorLock::held(scratch.path(), machine));
    ProcessIdentity other = machine;
    other.pid_namespace += 1;  // another container on the same directory has its own
    CHECK_FALSE(CollectorLock::held(scratch.path(), other));
    CHECK(CollectorLock(scratch.path()).acquire(other));
}

TEST_CASE("a lock whose file was removed counts no longer") {
    test::ScratchDirectory scratch;
    const ProcessIdentity machine = this_machine();
    CollectorLock first(scratch.path());
    REQUIRE(first.acquire(machine));
    CHECK(first.still_named());
    REQUIRE(unlink((std::string(scratch.path()) + "/collector.lock").c_str()) == 0);
    CHECK_FALSE(first.still_named());
    CollectorLock second(scratch.path());
    REQUIRE(second.acquire(machine));  // as another collector would
    CHECK_FALSE(first.acquire(machine));
    CHECK(second.still_named());
}

TEST_CASE("a bad ring is left alone and told, good ones beside it are drained") {
    test::ScratchDirectory scratch;
    const auto bad = [&](const char* name, std::span<const std::byte> bytes) {
        test::write_file(scratch.file(name), bytes);
    };
    bad("node.1.2.0.ring", std::vector<std::byte>(10000, std::byte{'x'}));
    bad("node.2.2.0.ring", std::vector<std::byte>(100, std::byte{1}));
    bad("node.3.2.0.ring", {});
    std::filesystem::create_directory(scratch.file("node.4.2.0.ring"));
    std::filesystem::create_symlink("/dev/zero", scratch.file("node.5.2.0.ring"));
    RingHeader header;
    std::memcpy(header.format.magic, kRingMagic, 8);
    header.format.header_bytes = kRingHeaderBytes;
    header.slot_count = 1U << 30;  // more than the file holds
    header.identity = this_machine();
    std::vector<std::byte> front(8192);
    std::memcpy(front.data(), static_cast<void*>(&header), sizeof(header));
    bad("node.6.2.0.ring", front);
    header.slot_count = 16;
    header.format.major = 9;
    std::memcpy(front.data(), static_cast<void*>(&header), sizeof(header));
    bad("node.7.2.0.ring", front);
    header.format.major = kFormatMajor;
    header.identity.pid = 7;
    header.identity.start_time = 1;  // not that one: dead
    header.head.store(1ULL << 50);
    header.tail.store(77);
    std::memcpy(front.data(), static_cast<void*>(&header), sizeof(header));
    bad("node.8.2.0.ring", front);
    test::JobPlan plan;
    plan.directory = scratch.path();
    plan.events_per_thread = 3000;
    test::Job job(plan);
    test::Child collector([&] { run_collector(scratch.path(), kSoon); });
    job.process().reap();
    CHECK(WIFEXITED(collector.reap()));
    const auto log_bytes = test::read_file(scratch.file("collector.log"));
    const std::string log(reinterpret_cast<const char*>(log_bytes.data()), log_bytes.size());
    for (const char* stem : {"node.1.2.0", "node.2.2.0", "node.4.2.0", "node.6.2.0", "node.7.2.0", "node.8.2.0"}) {
        CHECK_THAT(log, ContainsSubstring(stem));
    }
    const auto containers = files_with(scratch.path(), "testhost");
    REQUIRE(containers.size() == 1);
    ContainerReader reader(scratch.file(containers[0]));
    test::JobChecker checker;
    CHECK(checker.read_all(reader));
    CHECK(checker.events() == 6000);
    CHECK(reader.ended());
}

TEST_CASE("a ring cut short under the collector costs that ring alone") {
    test::ScratchDirectory scratch;
    test::Child victim([&] {
        test::RingOfThisProcess ring(scratch.path(), test::identity_of_this_process(), 4096);
        Event event;
        event.time = test::monotonic();
        for (int i = 0; i < 100; ++i) ring.write(event);
        pause();
    });
    while (files_with(scratch.path(), ".ring").empty()) usleep(1000);
    test::Child collector([&] {
        survive_cut_mappings();
        run_collector(scratch.path(), kSoon * 5);
    });
    while (files_with(scratch.path(), ".trace").empty()) usleep(1000);
    usleep(50000);
    std::filesystem::resize_file(scratch.file(files_with(scratch.path(), ".ring").at(0)), 4096);
    test::JobPlan plan;
    plan.directory = scratch.path();
    plan.events_per_thread = 3000;
    test::Job job(plan);
    job.process().reap();
    victim.kill_and_reap();
    CHECK(WIFEXITED(collector.reap()));
    const auto input = input::open_input(scratch.path());
    REQUIRE(input.processes.size() == 2);
    const auto source = input.processes[1].open();
    test::JobChecker checker;
    const bool right = checker.read_all(*source);
    INFO(checker.problem());
    CHECK(right);
    CHECK(checker.events() == 6000);
}

TEST_CASE("a directory at its limit: the ring keeps the events, the report has them all the same") {
    test::ScratchDirectory scratch;
    test::JobPlan plan;
    plan.directory = scratch.path();
    plan.events_per_thread = 3000;
    test::Job job(plan);
    test::Child collector([&] { run_collector(scratch.path(), kSoon, 4096); });
    job.process().reap();
    collector.reap();
    CHECK_FALSE(files_with(scratch.path(), ".ring").empty());
    check_trace(scratch.path(), job, false);
    const auto log_bytes = test::read_file(scratch.file("collector.log"));
    CHECK_THAT(std::string(reinterpret_cast<const char*>(log_bytes.data()), log_bytes.size()),
               ContainsSubstring("has reached its limit"));
    // With room again, the next collector completes it.
    test::Child second([&] { run_collector(scratch.path(), kSoon); });
    second.reap();
    check_trace(scratch.path(), job, true);
}

TEST_CASE("exec in place: the second ring ends the first") {
    test::ScratchDirectory scratch;
    test::Child process([&] {
        for (uint32_t counter : {0U, 1U}) {
            test::RingOfThisProcess ring(scratch.path(), test::identity_of_this_process(counter), 1024);
            Event event;
            event.time = test::monotonic();
            event.kind = EventKind::DeviceAlloc;
            event.address = 4096;
            event.size = 100 + counter;
            ring.write(event);
            usleep(150000);
        }
    });
    test::Child collector([&] { run_collector(scratch.path(), kSoon * 5); });
    process.reap();
    collector.reap();
    const auto input = input::open_input(scratch.path());
    REQUIRE(input.processes.size() == 2);
    for (uint32_t i = 0; i < 2; ++i) {
        CHECK(input.processes[i].identity.counter == i);
        const auto source = input.processes[i].open();
        std::vector<Event> batch;
        REQUIRE(source->next_batch(batch));
        CHECK(batch.at(0).size == 100 + i);
        CHECK_FALSE(source->next_batch(batch));
        CHECK(source->status().end == (i == 0 ? SourceStatus::End::Exec : SourceStatus::End::Vanished));
    }
}

TEST_CASE("a stopped job loses nothing: its half-written slot is waited for") {
    test::ScratchDirectory scratch;
    test::JobPlan plan;
    plan.directory = scratch.path();
    plan.slot_count = 1U << 16;
    test::Job job(plan);
    test::Child collector([&] { run_collector(scratch.path(), kLong); });
    for (int i = 0; i < 3; ++i) {
        usleep(60000);
        kill(job.process().pid(), SIGSTOP);
        usleep(1300000);  // longer than a stalled writer has
        kill(job.process().pid(), SIGCONT);
    }
    usleep(50000);
    job.process().kill_and_reap();
    const SourceStatus status = check_trace(scratch.path(), job, false);
    CHECK(status.losses[static_cast<size_t>(Loss::Abandoned)] <= plan.threads);  // those killed in the middle
}
