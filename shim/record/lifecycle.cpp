// SPDX-License-Identifier: Apache-2.0
#include "shim/record/lifecycle.h"

#include <sys/prctl.h>

#include <cstring>

#include "shim/arena.h"
#include "shim/diagnostics.h"
#include "shim/record/collector_launch.h"
#include "shim/record/framework_facts.h"
#include "shim/record/process_facts.h"
#include "shim/record/recorder.h"
#include "shim/record/recording_control.h"
#include "shim/record/trace_files.h"
#include "trace/definition.h"
#include "trace/ring/system_calls.h"

namespace vramtrace::shim {

namespace {

namespace sys = trace::sys;

constexpr uint64_t kSecond = 1'000'000'000;
constexpr uint64_t kShortestPause = 5 * kSecond;  // between two launches; doubled while they do not help
constexpr uint64_t kLongestPause = 60 * kSecond;
constexpr long kPollNanoseconds = 200'000;
constexpr unsigned kPolls = 1000;  // 200 ms: as long as an opening may take on a busy disk

// These live in .data and survive a fork. What `the_recording` points to is zero in the child: a fresh recording.
constinit std::atomic<Recording*> the_recording{nullptr};
constinit std::atomic<uint32_t> last_instance{0};  // a child counts on: no number of its parent names it
constinit std::atomic<void (*)()> opened_callback{nullptr};
constinit std::atomic<void (*)()> first_events_callback{nullptr};

Recording* allocated_recording() {
    Recording* known = the_recording.load(std::memory_order_acquire);
    if (known != nullptr) return known;
    auto* fresh = arena_new<Recording>();
    if (fresh == nullptr) return nullptr;
    // release, pairs with the acquire above; the loser's few pages stay unused.
    if (the_recording.compare_exchange_strong(known, fresh, std::memory_order_acq_rel, std::memory_order_acquire)) {
        return fresh;
    }
    return known;
}

// Orphans come to this process: its wait() would see the collector. It gets one only when the rings fill up, before
// something is lost, or when a setting names one; until then the rings hold everything and readers take it from there.
bool would_adopt(const Recording& recording) {
    if (recording.settings->collector.c_str()[0] != '\0') return false;
    int subreaper = 0;
    prctl(PR_GET_CHILD_SUBREAPER, &subreaper);
    return subreaper != 0 || syscall(SYS_getpid) == 1;
}

void start_collector(Recording& recording) {
    const char* reason = find_collector(*recording.settings, recording.collector, sizeof recording.collector);
    if (reason == nullptr && would_adopt(recording)) {
        reason = "put off: this process (PID 1 or a subreaper) would have to wait() for it";
    } else if (reason == nullptr) {
        const int error = launch_collector(recording.collector, recording.directory, *recording.settings);
        if (error != 0) {
            reason = strerrordesc_np(error);
            if (reason == nullptr) reason = "vramtrace-collect could not be started";
            recording.collector[0] = '\0';
        }
    }
    if (reason != nullptr) {
        publish_fact(recording.definitions, trace::fact::kUnloadable, reason, strlen(reason));
    }
    const uint64_t now = sys::monotonic_ns();
    recording.launch_pause = kShortestPause;
    recording.next_launch = reason == nullptr ? now + kShortestPause : 0;
    recording.next_check.store(now + kSecond, std::memory_order_relaxed);
}

// True: recording may begin.
bool open(Recording& recording) {
    recording.settings = settings();
    if (recording.settings == nullptr || recording.settings->disable) return false;
    if (recording.settings->refused[0] != '\0') complain("ignored a setting: ", recording.settings->refused);
    do recording.instance = last_instance.fetch_add(1, std::memory_order_relaxed) + 1;
    while (recording.instance == 0);
    recording.stack_depth = recording.settings->stack_depth;
    recording.free_stacks = recording.settings->free_stacks;
    recording.python_stacks = recording.settings->python_stacks;
    fill_identity(recording.identity);
    Refusal refusal = make_trace_directory(recording);
    if (refusal.what == nullptr) {
        refusal = create_trace_files(recording, choose_ring_place(recording.directory));
    }
    if (refusal.what != nullptr) {
        complain(refusal.what, refusal.detail, refusal.error);
        return false;
    }
    publish_facts(recording.definitions, *recording.settings);
    publish_framework_facts();
    if (const auto callback = opened_callback.load(std::memory_order_acquire)) callback();
    announce_control(recording);
    if (const auto callback = first_events_callback.load(std::memory_order_acquire)) callback();
    start_collector(recording);
    return true;
}

// Called after `state` or `before_open` was changed (both seq_cst): one of the two callers sees the other's change.
void count_dropped(Recording& recording) {
    if (recording.state.load(std::memory_order_seq_cst) != RecordingState::Open) return;
    const uint64_t dropped = recording.before_open.exchange(0, std::memory_order_seq_cst);
    recording.chain.first()->losses[static_cast<size_t>(trace::Loss::BeforeOpen)].fetch_add(dropped,
                                                                                            std::memory_order_relaxed);
}

Recording* wait_for_opener(Recording& recording) {
    if (recording.opener == static_cast<uint32_t>(syscall(SYS_gettid))) return nullptr;  // record() from the callback
    for (unsigned i = 0; i < kPolls; ++i) {
        if (recording.state.load(std::memory_order_acquire) != RecordingState::Opening) break;
        sys::sleep_nanoseconds(kPollNanoseconds);
    }
    if (Recording* opened = open_recording_or_null()) return opened;
    recording.before_open.fetch_add(1, std::memory_order_seq_cst);
    count_dropped(recording);
    return nullptr;
}

}  // namespace

Recording* open_recording_or_null() {
    Recording* recording = the_recording.load(std::memory_order_acquire);  // pairs with allocated_recording
    if (recording == nullptr) return nullptr;
    // acquire, pairs with the release in open_recording: everything in it is set up.
    return recording->state.load(std::memory_order_acquire) == RecordingState::Open ? recording : nullptr;
}

Recording* open_recording() {
    if (Recording* opened = open_recording_or_null()) return opened;
    const trace::KeepErrno keep_errno;
    Recording* recording = allocated_recording();
    if (recording == nullptr) {
        complain("not recording: no memory, or a kernel without MADV_WIPEONFORK");
        return nullptr;
    }
    switch (recording->state.load(std::memory_order_acquire)) {
        case RecordingState::Open:
            return recording;
        case RecordingState::Refused:
            return nullptr;
        case RecordingState::Opening:
            return wait_for_opener(*recording);
        case RecordingState::Fresh:
            break;
    }
    // No handler of the job may run on top of an opening: it would wait for us, or jump out of it.
    const trace::BlockSignals block;
    RecordingState fresh = RecordingState::Fresh;
    if (!recording->state.compare_exchange_strong(fresh, RecordingState::Opening, std::memory_order_acq_rel,
                                                  std::memory_order_acquire)) {
        return fresh == RecordingState::Open ? recording : wait_for_opener(*recording);
    }
    recording->opener = static_cast<uint32_t>(syscall(SYS_gettid));
    const bool opened = open(*recording);
    // release, pairs with the acquire in open_recording_or_null; seq_cst for count_dropped.
    recording->state.store(opened ? RecordingState::Open : RecordingState::Refused, std::memory_order_seq_cst);
    if (!opened) return nullptr;
    count_dropped(*recording);
    return recording;
}

Recording* recording_to_define_in() {
    Recording* recording = the_recording.load(std::memory_order_acquire);
    if (recording == nullptr) return nullptr;
    switch (recording->state.load(std::memory_order_acquire)) {
        case RecordingState::Open:
            return recording;
        case RecordingState::Opening:
            return recording->opener == static_cast<uint32_t>(syscall(SYS_gettid)) && recording->definitions.attached()
                       ? recording
                       : nullptr;
        default:
            return nullptr;
    }
}

void check_collector(Recording& recording, uint64_t now) {
    uint64_t due = recording.next_check.load(std::memory_order_relaxed);
    if (now < due) return;
    // acq_rel: next_launch and launch_pause belong to whoever moves the date, one after the other.
    if (!recording.next_check.compare_exchange_strong(due, now + kSecond, std::memory_order_acq_rel)) return;
    if (recording.collector[0] == '\0') return;
    const uint64_t heartbeat = recording.chain.first()->heartbeat.load(std::memory_order_relaxed);
    if (heartbeat != 0 && (heartbeat >= now || now - heartbeat < trace::SegmentChain::kCollectorSilence)) {
        recording.launch_pause = kShortestPause;
        return;
    }
    if (now < recording.next_launch) return;
    if (would_adopt(recording) && !recording.chain.is_half_full()) return;
    launch_collector(recording.collector, recording.directory, *recording.settings);
    recording.next_launch = now + recording.launch_pause;
    recording.launch_pause = recording.launch_pause < kLongestPause / 2 ? 2 * recording.launch_pause : kLongestPause;
}

void set_opened_callback(void (*callback)()) {
    opened_callback.store(callback, std::memory_order_release);
}

void set_first_events_callback(void (*callback)()) {
    first_events_callback.store(callback, std::memory_order_release);
}

}  // namespace vramtrace::shim
