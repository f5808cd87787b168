// SPDX-License-Identifier: Apache-2.0
#include "shim/record/recorder.h"

#include <sys/prctl.h>

#include <cstring>

#include "shim/capture/stack_capture.h"
#include "shim/record/lifecycle.h"
#include "shim/record/recording_control.h"
#include "shim/thread_state.h"
#include "trace/ring/definition_record.h"
#include "trace/ring/system_calls.h"

namespace vramtrace::shim {

namespace {

using trace::EventKind;
using trace::Loss;

constexpr uint64_t kHashShift = 32;
constexpr unsigned kProbes = 32;

// Events whose stack VRAMTRACE_FREE_STACKS=0 leaves out.
constexpr bool is_release(EventKind kind) {
    switch (kind) {
        case EventKind::DeviceFree:
        case EventKind::HostFree:
        case EventKind::HostUnregister:
        case EventKind::PoolDestroy:
        case EventKind::PoolFree:
        case EventKind::AddressFree:
        case EventKind::PhysicalRelease:
        case EventKind::Unmap:
        case EventKind::MulticastUnbind:
        case EventKind::ArrayDestroy:
        case EventKind::MipmapDestroy:
        case EventKind::IpcClose:
        case EventKind::ExternalDestroy:
        case EventKind::GraphicsUnmap:
        case EventKind::GraphicsUnregister:
        case EventKind::GraphFree:
        case EventKind::GraphExecDestroy:
        case EventKind::GraphDestroy:
        case EventKind::GraphNodeDestroy:
        case EventKind::ModuleUnload:
        case EventKind::LibraryUnload:
        case EventKind::StreamDestroy:
        case EventKind::EventDestroy:
        case EventKind::BlockFree:
            return true;
        default:
            return false;
    }
}

void count(Recording& recording, Loss reason) {
    recording.chain.first()->losses[static_cast<size_t>(reason)].fetch_add(1, std::memory_order_relaxed);
}

// Once a thread and process: a fork's child inherits the state of the thread that forked.
[[gnu::cold, gnu::noinline]] void meet_thread(Recording& recording) {
    thread_state.thread = static_cast<uint32_t>(syscall(SYS_gettid));
    thread_state.instance = recording.instance;
    char name[17] = {};
    if (prctl(PR_GET_NAME, name) != 0 || name[0] == '\0') return;
    const auto name_bytes = static_cast<uint32_t>(strlen(name));
    const trace::ThreadBody body{thread_state.thread, name_bytes};
    recording.definitions.append(trace::DefinitionKind::Thread, {{&body, sizeof body}, {name, name_bytes}});
}

trace::DefinitionId take_stack(Recording& recording) {
    const auto& full = recording.chain.first()->losses[static_cast<size_t>(Loss::DefinitionFull)];
    const uint64_t full_before = full.load(std::memory_order_relaxed);
    const CapturedStack stack = capture_stack(recording.definitions, recording.stack_depth,
                                              recording.python_stacks ? WithPython::Yes : WithPython::No);
    // The definition table counts its own refusals.
    const bool counted = stack.loss == Loss::DefinitionFull && full.load(std::memory_order_relaxed) != full_before;
    if (stack.loss < Loss::Count && !counted) count(recording, stack.loss);
    return stack.id;
}

}  // namespace

uint64_t record(trace::Event& event, OpensRing opens, WithStack stack) {
    Recording* recording = open_recording_or_null();
    const trace::KeepErrno keep_errno;
    if (recording == nullptr) {
        if (opens == OpensRing::No) return kNotRecorded;
        recording = open_recording();
        if (recording == nullptr) return kNotRecorded;
    }
    const Admission admission = admit(*recording, event);
    if (admission == Admission::Refused) return kNotRecorded;
    if (admission == Admission::WithoutStack) stack = WithStack::No;
    if (thread_state.instance != recording->instance) meet_thread(*recording);
    event.thread = thread_state.thread;
    event.label = thread_state.label;
    event.stack =
        stack == WithStack::Yes && (recording->free_stacks || !is_release(event.kind)) ? take_stack(*recording) : 0;
    event.time = trace::sys::monotonic_ns();
    const uint64_t ticket = recording->chain.write(event);
    static_assert(trace::SegmentChain::kNotWritten == kNotRecorded);
    check_collector(*recording, event.time);
    return ticket;
}

bool write_first(trace::Event event) {
    Recording* recording = recording_to_define_in();
    if (recording == nullptr) return false;
    const trace::KeepErrno keep_errno;
    if (event.thread == 0) event.thread = static_cast<uint32_t>(syscall(SYS_gettid));
    if (event.time == 0) event.time = trace::sys::monotonic_ns();
    return recording->chain.write(event) != kNotRecorded;
}

bool recording() {
    return open_recording_or_null() != nullptr;
}

const char* trace_directory() {
    const Recording* recording = open_recording_or_null();
    return recording != nullptr ? recording->directory : "";
}

int in_flight_enter(uint64_t ticket) {
    if (ticket == kNotRecorded) return -1;
    Recording* recording = open_recording_or_null();
    if (recording == nullptr) return -1;
    std::atomic<uint64_t>* table = recording->chain.first()->in_flight;
    const uint32_t home = thread_state.thread * 2654435761U >> 24;  // 256 places
    static_assert(trace::kInFlightSlots == 256);
    for (uint32_t i = 0; i < trace::kInFlightSlots; ++i) {
        const uint32_t place = (home + i) % trace::kInFlightSlots;
        uint64_t free = 0;
        // release, pairs with the acquire in read_in_flight: the ticket's event is committed.
        if (table[place].load(std::memory_order_relaxed) == 0 &&
            table[place].compare_exchange_strong(free, ticket + 1, std::memory_order_release,
                                                 std::memory_order_relaxed)) {
            return static_cast<int>(place);
        }
    }
    return -1;
}

void in_flight_leave(int slot) {
    if (slot < 0 || static_cast<uint32_t>(slot) >= trace::kInFlightSlots) return;
    // In a fork's child (forked inside the real call) there is no recording, and nothing to give back.
    Recording* recording = open_recording_or_null();
    if (recording != nullptr) recording->chain.first()->in_flight[slot].store(0, std::memory_order_release);
}

trace::DefinitionId define(trace::DefinitionKind kind, const void* body, uint32_t bytes) {
    Recording* recording = recording_to_define_in();
    if (recording == nullptr || bytes == 0) return 0;
    const trace::KeepErrno keep_errno;
    uint32_t hash = trace::definition_hash(body, bytes, trace::kFnvBasis + static_cast<uint32_t>(kind));
    trace::DefinitionId made = 0;
    for (unsigned i = 0; i < kProbes; ++i) {
        std::atomic<uint64_t>& place = recording->interned[(hash + i) % Recording::kInterned];
        uint64_t entry = place.load(std::memory_order_acquire);  // pairs with the release below
        if (entry == 0) {
            if (made == 0) made = recording->definitions.append(kind, {{body, bytes}});
            if (made == 0) return 0;  // counted there
            const uint64_t own = (static_cast<uint64_t>(hash) << kHashShift) | made;
            if (place.compare_exchange_strong(entry, own, std::memory_order_acq_rel, std::memory_order_acquire))
                return made;
        }
        if (entry >> kHashShift != hash) continue;
        const auto id = static_cast<trace::DefinitionId>(entry);
        const auto known = recording->definitions.body(id);
        if (known.size() == bytes && std::memcmp(known.data(), body, bytes) == 0 &&
            recording->definitions.kind(id) == kind) {
            return id;
        }
    }
    // The neighbourhood is full: the same bytes may get several ids, which costs room and nothing else.
    return made != 0 ? made : recording->definitions.append(kind, {{body, bytes}});
}

void count_loss(Loss reason) {
    if (Recording* recording = open_recording_or_null(); recording != nullptr && reason < Loss::Count) {
        count(*recording, reason);
    }
}

}  // namespace vramtrace::shim
