// SPDX-License-Identifier: Apache-2.0
#include "analyzer/input/open_input.h"

#include <cerrno>
#include <filesystem>
#include <fstream>

#include "tests/support/catch.h"
#include "tests/support/random_events.h"
#include "tests/support/ring_job.h"
#include "tests/support/scratch_directory.h"
#include "trace/container/container_writer.h"
#include "trace/container/input_error.h"

using namespace vramtrace;
using namespace vramtrace::trace;

namespace {

std::string why(const std::optional<std::string>& path) {
    try {
        input::open_input(path).processes.at(0).open();
    } catch (const InputError& error) {
        return error.what();
    }
    return "(readable)";
}

void text_file(const std::string& path, const std::string& text) {
    std::ofstream(path) << text;
}

// STEM.trace of process `pid` with `count` events, ended or not.
std::string container(const std::string& directory, uint32_t pid, size_t count, bool ended, uint32_t counter = 0) {
    ProcessIdentity identity = test::some_identity(pid);
    identity.counter = counter;
    char stem[kMaxStem];
    trace_stem(identity, stem, sizeof(stem));
    const std::string path = directory + "/" + stem + ".trace";
    ContainerWriter writer(path, identity);
    REQUIRE(writer.append_events(test::churn(count, 0, pid), 0, static_cast<uint32_t>(count)));
    EndRecord end;
    end.end = SourceStatus::End::Vanished;
    if (ended) REQUIRE(writer.append_end(end, count));
    return path;
}

size_t count_events(EventSource& source) {
    size_t count = 0;
    std::vector<Event> batch;
    while (source.next_batch(batch)) count += batch.size();
    return count;
}

}  // namespace

TEST_CASE("a directory gives its processes in the order of recording, each readable more than once") {
    test::ScratchDirectory scratch;
    container(scratch.path(), 30, 100, true);
    container(scratch.path(), 20, 200, true);
    const auto input = input::open_input(scratch.path());
    REQUIRE(input.processes.size() == 2);
    CHECK(input.processes[0].identity.pid == 20);
    CHECK(input.warnings.empty());
    for (int pass = 0; pass < 2; ++pass) {
        CHECK(count_events(*input.processes[0].open()) == 200);
        CHECK(count_events(*input.processes[1].open()) == 100);
    }
}

TEST_CASE("a single file is enough, under any name") {
    test::ScratchDirectory scratch;
    const std::string path = container(scratch.path(), 30, 100, true);
    CHECK(count_events(*input::open_input(path).processes.at(0).open()) == 100);
    const std::string renamed = scratch.file("monday.bin");
    std::filesystem::rename(path, renamed);
    CHECK(count_events(*input::open_input(renamed).processes.at(0).open()) == 100);
}

TEST_CASE("a process of which nothing can be opened is told of, with the reason") {
    test::ScratchDirectory scratch;
    text_file(scratch.file("h.1.2.0.where"), "/nowhere/vramtrace-h.1.2.0\n");
    CHECK_THAT(why(scratch.path()), ContainsSubstring("/nowhere/vramtrace-h.1.2.0.ring) is not there"));
    text_file(scratch.file("h.1.2.0.where"), "/now");
    CHECK_THAT(why(scratch.path()), ContainsSubstring("does not say where the ring"));
    text_file(scratch.file("h.1.2.0.ring"), "");
    CHECK_THAT(why(scratch.path()), ContainsSubstring("h.1.2.0.ring is empty"));
    std::filesystem::remove(scratch.file("h.1.2.0.where"));
    std::filesystem::remove(scratch.file("h.1.2.0.ring"));
    std::filesystem::create_symlink("h.1.2.0.trace", scratch.file("h.1.2.0.trace"));
    CHECK_THAT(why(scratch.path()), ContainsSubstring("h.1.2.0.trace cannot be opened: "));
}

TEST_CASE("what cannot be read is refused in one sentence") {
    test::ScratchDirectory scratch;
    CHECK_THAT(why(scratch.file("nothing")), ContainsSubstring("does not exist"));
    CHECK_THAT(why(scratch.path()), ContainsSubstring("holds no trace"));
    CHECK_THAT(why("/dev/null"), ContainsSubstring("neither a file nor a directory"));
    text_file(scratch.file("a.txt"), "");
    CHECK_THAT(why(scratch.file("a.txt")), ContainsSubstring("is empty"));
    text_file(scratch.file("a.txt"), std::string(1000, '#'));
    CHECK_THAT(why(scratch.file("a.txt")), ContainsSubstring("is not a vramtrace trace"));
    text_file(scratch.file("host.1.2.0.trace"), "something else that is long enough to be looked at");
    CHECK_THAT(why(scratch.path()), ContainsSubstring("is not a vramtrace trace"));
    text_file(scratch.file("host.1.2.0.trace"), "VRAMTRCE");
    CHECK_THAT(why(scratch.path()), ContainsSubstring("cut off in its header"));
}

TEST_CASE("one bad file of a directory is told, the others are read") {
    test::ScratchDirectory scratch;
    container(scratch.path(), 30, 100, true);
    text_file(scratch.file("host.1.2.0.trace"), std::string(1000, '#'));
    const auto input = input::open_input(scratch.path());
    CHECK(input.processes.size() == 1);
    REQUIRE(input.warnings.size() == 1);
    CHECK_THAT(input.warnings[0], ContainsSubstring("host.1.2.0.trace is not a vramtrace trace"));
}

TEST_CASE("run.json says exactly how the job ended; exec in place ends the earlier traces") {
    test::ScratchDirectory scratch;
    container(scratch.path(), 30, 10, true, 0);
    container(scratch.path(), 30, 10, true, 1);
    container(scratch.path(), 31, 10, true);
    const auto ends = [&] {
        std::vector<std::pair<SourceStatus::End, int>> list;
        for (const auto& process : input::open_input(scratch.path()).processes) {
            const auto source = process.open();
            count_events(*source);
            list.emplace_back(source->status().end, source->status().end_value);
        }
        return list;
    };
    using End = SourceStatus::End;
    using List = std::vector<std::pair<End, int>>;
    CHECK(ends() == List{{End::Exec, -1}, {End::Vanished, -1}, {End::Vanished, -1}});
    text_file(scratch.file("run.json"), R"({"pid": 30, "start_time": 123456, "exit_code": 3})");
    CHECK(ends() == List{{End::Exec, -1}, {End::Exited, 3}, {End::Vanished, -1}});
    text_file(scratch.file("run.json"), R"({"pid": 31, "start_time": 123456, "signal": 9})");
    CHECK(ends() == List{{End::Exec, -1}, {End::Vanished, -1}, {End::Signalled, 9}});
    text_file(scratch.file("run.json"), R"({"pid": 31, "start_time": 1, "exit_code": 0})");
    CHECK(ends() == List{{End::Exec, -1}, {End::Vanished, -1}, {End::Vanished, -1}});
    text_file(scratch.file("run.json"), "{\"pid\": ");
    CHECK(input::open_input(scratch.path()).warnings.size() == 1);
}

TEST_CASE("a container without end and without ring is said to break off") {
    test::ScratchDirectory scratch;
    container(scratch.path(), 30, 10, false);
    const auto source = input::open_input(scratch.path()).processes.at(0).open();
    CHECK(count_events(*source) == 10);
    REQUIRE(source->status().warnings.size() == 1);
    CHECK_THAT(source->status().warnings[0], ContainsSubstring("breaks off"));
    CHECK(source->status().end == SourceStatus::End::Unknown);  // of another boot: nobody can ask
}

TEST_CASE("without an argument the newest trace directory here is taken") {
    test::ScratchDirectory scratch;
    const auto before = std::filesystem::current_path();
    std::filesystem::current_path(scratch.path());
    CHECK_THAT(why(std::nullopt), ContainsSubstring("No trace lies here"));
    std::filesystem::create_directory("vramtrace-empty");
    for (const char* name : {"vramtrace-trace", "vramtrace-b", "vramtrace-a", "other"}) {
        std::filesystem::create_directory(name);
        const std::string path = container(name, 30, 10, true);
        std::filesystem::last_write_time(path, std::filesystem::file_time_type::clock::now() -
                                                   std::chrono::hours(std::string(name) == "vramtrace-b" ? 1 : 2));
    }
    CHECK(input::open_input(std::nullopt).path == "vramtrace-b");
    std::filesystem::current_path(before);
}

TEST_CASE("a job that died without any collector is read from its ring alone") {
    test::ScratchDirectory scratch;
    test::JobPlan plan;
    plan.directory = scratch.path();
    plan.threads = 4;
    plan.slot_count = 1024;  // several segments
    test::Job job(plan);
    usleep(150000);
    job.process().kill_and_reap();
    for (int pass = 0; pass < 2; ++pass) {
        const auto input = input::open_input(scratch.path());
        REQUIRE(input.processes.size() == 1);
        const auto source = input.processes[0].open();
        test::JobChecker checker;
        const bool right = checker.read_all(*source);
        INFO(checker.problem());
        REQUIRE(right);
        CHECK(checker.has_all(job.progress()));
        CHECK(checker.events() > 0);
        CHECK(source->status().end == SourceStatus::End::Vanished);
        CHECK(source->status().missing_tickets == 0);
        CHECK(source->status().warnings.empty());
    }
}

TEST_CASE(
    "a ring with a container that cannot be read: told if it may have held events, not if it is only being made") {
    test::ScratchDirectory scratch;
    test::Child process([&] {
        test::RingOfThisProcess ring(scratch.path(), test::identity_of_this_process(), 1024);
        Event event;
        event.time = test::monotonic();
        ring.write(event);
    });
    process.reap();
    const auto warnings = [&] {
        const auto source = input::open_input(scratch.path()).processes.at(0).open();
        CHECK(count_events(*source) == 1);
        return source->status().warnings;
    };
    CHECK(warnings().empty());
    const std::string ring = input::open_input(scratch.path()).processes.at(0).files.ring_prefix;
    text_file(ring + ".trace", "");
    CHECK(warnings().empty());
    text_file(ring + ".trace", "VRAMTRCE and half a header");
    CHECK(warnings().empty());
    text_file(ring + ".trace", std::string(1000, '#'));
    REQUIRE(warnings().size() == 1);
    CHECK_THAT(warnings()[0], ContainsSubstring("is not a vramtrace trace"));
}

TEST_CASE("releases in flight at death are named, and why there was no room") {
    test::ScratchDirectory scratch;
    test::Child process([&] {
        test::RingOfThisProcess ring(scratch.path(), test::identity_of_this_process(), 1024);
        Event event;
        event.kind = EventKind::DeviceFree;
        event.time = test::monotonic();
        for (int i = 0; i < 10; ++i) ring.write(event);
        ring.header().in_flight[3].store(8 + 1);
        ring.header().in_flight[100].store(2 + 1);
        ring.header().losses[static_cast<size_t>(Loss::StackFailed)].store(5);
        ring.header().append_error.store(EDQUOT);
        ring.header().first_loss_time.store(77);
    });
    process.reap();
    const auto source = input::open_input(scratch.path()).processes.at(0).open();
    CHECK(count_events(*source) == 10);
    CHECK(source->status().in_flight == std::vector<uint64_t>{2, 8});
    CHECK(source->status().losses[static_cast<size_t>(Loss::StackFailed)] == 5);
    CHECK(source->status().first_loss_time == 77);
    REQUIRE(source->status().warnings.size() == 1);
    CHECK_THAT(source->status().warnings[0], ContainsSubstring("VRAMTRACE_DISK_LIMIT was reached"));
}

TEST_CASE("facts are read from the definitions") {
    class View final : public DefinitionView {
    public:
        std::span<const std::byte> body(DefinitionId, DefinitionKind) const override { return {}; }
        void for_each(
            const std::function<void(DefinitionId, DefinitionKind, std::span<const std::byte>)>& visit) const override {
            const std::string text("command\0./a\0-x", 14), broken = "no value";
            visit(1, DefinitionKind::Fact, std::as_bytes(std::span(text)));
            visit(2, DefinitionKind::Fact, std::as_bytes(std::span(broken)));
            visit(3, DefinitionKind::String, std::as_bytes(std::span(text)));
        }
    };
    const auto facts = input::read_facts(View());
    REQUIRE(facts.size() == 1);
    CHECK(facts[0].first == "command");
    CHECK(facts[0].second == std::string("./a\0-x", 6));
}
