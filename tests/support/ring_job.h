// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "trace/container/process_watch.h"
#include "trace/event_source.h"
#include "trace/ring/definition_table.h"
#include "trace/ring/ring_file.h"
#include "trace/ring/segment_chain.h"
#include "trace/trace_name.h"

// A job without the shim: writes numbered events from several threads into a ring in a directory, as a process of its
// own that can be killed. Whoever reads its trace can say of each event whether it is right, twice there, or missing.
namespace vramtrace::test {

inline uint64_t monotonic() {
    timespec now{};
    clock_gettime(CLOCK_MONOTONIC, &now);
    return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000ULL + static_cast<uint64_t>(now.tv_nsec);
}

inline trace::ProcessIdentity identity_of_this_process(uint32_t counter = 0) {
    trace::ProcessIdentity identity = trace::this_machine();
    identity.pid = static_cast<uint32_t>(getpid());
    identity.start_time = trace::start_time_of(identity.pid);
    identity.open_monotonic = monotonic();
    identity.counter = counter;
    std::strcpy(identity.host, "testhost");
    return identity;
}

// The ring and definitions of this process in `directory`.
class RingOfThisProcess {
public:
    RingOfThisProcess(const std::string& directory, const trace::ProcessIdentity& identity, uint32_t slot_count,
                      uint64_t limit_bytes = 256ULL << 20)
        : identity_(identity), chain_(std::make_unique<trace::SegmentChain>()) {
        char stem[trace::kMaxStem];
        trace::trace_stem(identity, stem, sizeof(stem));
        prefix_ = directory + "/" + stem;
        const int error =
            trace::create_definitions((prefix_ + ".defs").c_str(), identity, 64U << 20, {}, file_, facts_);
        good_ = error == 0 && chain_->start({create, release, this}, limit_bytes, slot_count);
        if (good_) table_.attach(file_, &facts_, &header().losses[static_cast<size_t>(trace::Loss::DefinitionFull)]);
    }
    bool good() const { return good_; }
    const std::string& prefix() const { return prefix_; }
    trace::RingHeader& header() { return *chain_->first(); }
    uint64_t write(const trace::Event& event) { return chain_->write(event); }
    trace::DefinitionId define(const std::string& text) {
        return table_.append(trace::DefinitionKind::String, {{text.data(), text.size()}});
    }

private:
    static trace::RingHeader* create(void* context, uint32_t index, uint32_t slot_count) {
        auto& self = *static_cast<RingOfThisProcess*>(context);
        char path[trace::kMaxPath];
        trace::ring_path(self.prefix_.c_str(), index, path, sizeof(path));
        trace::RingHeader* header = nullptr;
        return trace::create_ring_segment(path, self.identity_, index, slot_count, {}, header) == 0 ? header : nullptr;
    }
    static bool release(void*, trace::RingHeader* segment) { return trace::release_drained_slots(segment); }

    trace::ProcessIdentity identity_;
    std::string prefix_;
    std::unique_ptr<trace::SegmentChain> chain_;
    trace::DefinitionFileHeader* file_ = nullptr;
    trace::DefinitionFileFacts facts_;
    trace::DefinitionTable table_{};
    bool good_ = false;
};

struct JobPlan {
    std::string directory;
    unsigned threads = 2;
    uint64_t events_per_thread = ~0ULL;  // then it waits to be killed, or ends
    uint32_t slot_count = 4096;
    bool wait_at_end = false;
    uint64_t pause_every = 64;  // events, then a pause: a busy job, not one that only writes
    unsigned pause_microseconds = 50;
};

// What the job says while it lives, in memory that outlives it.
struct JobProgress {
    std::atomic<uint64_t> written[16];  // by thread: events whose write had returned
    std::atomic<uint64_t> lost;         // times that there was no room
    std::atomic<uint32_t> ready;        // ring is there
    std::atomic<uint32_t> done;         // all events are written
};

// A child process running `body`; killed and reaped at the end at the latest.
class Child {
public:
    explicit Child(const std::function<void()>& body) : pid_(fork()) {
        if (pid_ == 0) {
            body();
            _exit(0);
        }
    }
    ~Child() { kill_and_reap(); }
    Child(const Child&) = delete;
    Child& operator=(const Child&) = delete;
    pid_t pid() const { return pid_; }
    void kill_and_reap() {
        if (pid_ <= 0) return;
        kill(pid_, SIGKILL);
        reap();
    }
    int reap() {
        int status = 0;
        if (pid_ > 0) waitpid(pid_, &status, 0);
        pid_ = -1;
        return status;
    }
    bool gone() {
        int status = 0;
        if (pid_ > 0 && waitpid(pid_, &status, WNOHANG) == pid_) pid_ = -1;
        return pid_ < 0;
    }

private:
    pid_t pid_;
};

constexpr uint64_t kEventsPerDefinition = 50;

inline std::string definition_text(uint32_t thread, uint64_t number) {
    return "thread " + std::to_string(thread) + " events from " + std::to_string(number);
}

class Job {
public:
    explicit Job(const JobPlan& plan)
        : progress_(static_cast<JobProgress*>(
              mmap(nullptr, sizeof(JobProgress), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0))),
          child_([&] { run(plan, *progress_); }) {
        while (progress_->ready.load() == 0 && !child_.gone()) usleep(500);
    }
    ~Job() {
        child_.kill_and_reap();
        munmap(progress_, sizeof(JobProgress));
    }
    Child& process() { return child_; }
    JobProgress& progress() { return *progress_; }
    void wait_done() {
        while (progress_->done.load() == 0 && !child_.gone()) usleep(500);
    }
    uint64_t written() const {
        uint64_t sum = 0;
        for (const auto& count : progress_->written) sum += count.load();
        return sum;
    }

private:
    static void run(const JobPlan& plan, JobProgress& progress) {
        RingOfThisProcess ring(plan.directory, identity_of_this_process(), plan.slot_count);
        if (!ring.good()) _exit(1);
        progress.ready.store(1);
        std::vector<std::thread> threads;
        for (uint32_t thread = 0; thread < plan.threads; ++thread) {
            threads.emplace_back([&, thread] {
                trace::Event event;
                for (uint64_t i = 0; i < plan.events_per_thread; ++i) {
                    if (i % kEventsPerDefinition == 0) event.stack = ring.define(definition_text(thread, i));
                    event.kind = i % 2 == 0 ? trace::EventKind::DeviceAlloc : trace::EventKind::DeviceFree;
                    event.time = monotonic();
                    event.thread = thread + 1;
                    event.address = 0x7f0000000000 + (i / 2 % 1000) * 512;
                    event.object = i + 1;
                    // What found no room is counted by the ring, and told again: nothing must be missing in the end.
                    while (ring.write(event) == trace::SegmentChain::kNotWritten) {
                        progress.lost.fetch_add(1);
                        usleep(200);
                        event.time = monotonic();
                    }
                    progress.written[thread].store(i + 1);
                    if (i % plan.pause_every == plan.pause_every - 1) usleep(plan.pause_microseconds);
                }
            });
        }
        for (std::thread& thread : threads) thread.join();
        progress.done.store(1);
        while (plan.wait_at_end) pause();
    }

    JobProgress* progress_;
    Child child_;
};

// Checks the events of such a job as they come.
class JobChecker {
public:
    // False with a sentence in problem() at the first event that is wrong.
    bool check(const std::vector<trace::Event>& batch, const trace::DefinitionView& definitions) {
        for (const trace::Event& event : batch) {
            if (events_ > 0 && event.sequence <= last_ticket_) return fail("ticket twice or backwards", event);
            last_ticket_ = event.sequence;
            ++events_;
            if (event.thread == 0 || event.thread > 16) return fail("thread", event);
            uint64_t& next = next_[event.thread - 1];
            if (event.object != next + 1) return fail("order of its thread", event);
            const uint64_t first = next - next % kEventsPerDefinition;
            ++next;
            if (event.stack == stack_[event.thread - 1] && next % kEventsPerDefinition != 1) continue;
            stack_[event.thread - 1] = event.stack;
            const auto body = definitions.body(event.stack, trace::DefinitionKind::String);
            const std::string text(reinterpret_cast<const char*>(body.data()), body.size());
            if (text != definition_text(event.thread - 1, first))
                return fail(("definition '" + text + "'").c_str(), event);
        }
        return true;
    }
    bool read_all(trace::EventSource& source) {
        std::vector<trace::Event> batch;
        while (source.next_batch(batch)) {
            if (!check(batch, source.definitions())) return false;
        }
        return true;
    }
    uint64_t events() const { return events_; }
    uint64_t of_thread(uint32_t thread) const { return next_[thread]; }
    const std::string& problem() const { return problem_; }
    // Is everything there whose writing had returned?
    bool has_all(const JobProgress& progress) {
        for (uint32_t thread = 0; thread < 16; ++thread) {
            if (next_[thread] < progress.written[thread].load()) {
                problem_ = "thread " + std::to_string(thread) + ": " + std::to_string(next_[thread]) + " of " +
                           std::to_string(progress.written[thread].load()) + " events";
                return false;
            }
        }
        return true;
    }

private:
    bool fail(const char* what, const trace::Event& event) {
        problem_ = std::string(what) + " at ticket " + std::to_string(event.sequence) + " thread " +
                   std::to_string(event.thread) + " number " + std::to_string(event.object);
        return false;
    }
    uint64_t next_[16] = {};
    trace::DefinitionId stack_[16] = {};  // of the last event, whose definition was right
    uint64_t events_ = 0;
    uint64_t last_ticket_ = 0;
    std::string problem_;
};

}  // namespace vramtrace::test
