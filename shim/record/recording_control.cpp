// SPDX-License-Identifier: Apache-2.0
#include "shim/record/recording_control.h"

#include <atomic>
#include <cstring>

#include "shim/record/lifecycle.h"
#include "shim/record/recorder.h"
#include "shim/settings.h"

namespace vramtrace::shim {

namespace {

using trace::EventKind;

enum class Word : uint8_t { None, Start, Stop };

// In .data on purpose: a program that stopped recording and forks has stopped it in the child too. Relaxed: the order of
// events is that of their tickets, and nothing else hangs on it.
constinit std::atomic<Word> word{Word::None};

bool stopped(bool start_by_setting) {
    const Word said = word.load(std::memory_order_relaxed);
    return said == Word::None ? !start_by_setting : said == Word::Stop;
}

bool of_framework(EventKind kind) {
    return kind == EventKind::BlockAlloc || kind == EventKind::BlockFree || kind == EventKind::FrameworkOutOfMemory;
}

// One address, one size, one release: what can be left out without leaving a gap in anything else.
bool plain_allocation(EventKind kind) {
    switch (kind) {
        case EventKind::DeviceAlloc:
        case EventKind::ManagedAlloc:
        case EventKind::HostAlloc:
        case EventKind::HostRegister:
        case EventKind::PoolAlloc:
        case EventKind::ArrayCreate:
        case EventKind::MipmapCreate:
        case EventKind::BlockAlloc:
            return true;
        default:
            return false;
    }
}

// What begins and ends by itself, and what only tells of a moment.
bool left_out_while_stopped(EventKind kind) {
    switch (kind) {
        case EventKind::PhysicalCreate:
        case EventKind::PhysicalImport:
        case EventKind::AddressReserve:
        case EventKind::PoolPointerImport:
        case EventKind::IpcExport:
        case EventKind::IpcOpen:
        case EventKind::ExternalImport:
        case EventKind::ExternalBuffer:
        case EventKind::ExternalMipmap:
        case EventKind::GraphicsMap:
        case EventKind::GraphicsPointer:
        case EventKind::ModuleLoad:
        case EventKind::LibraryLoad:
        case EventKind::ModuleGlobal:
        case EventKind::StreamCreate:
        case EventKind::EventCreate:
        case EventKind::CallFailed:
        case EventKind::RuntimeFailed:
        case EventKind::MemoryInfo:
        case EventKind::PoolInfo:
        case EventKind::FrameworkOutOfMemory:
        case EventKind::Mark:
            return true;
        default:
            return plain_allocation(kind);
    }
}

void say(Word now, EventKind kind, const char* why) {
    const Word before = word.exchange(now, std::memory_order_relaxed);
    const Settings* given = settings();
    const bool started_before = before == Word::None ? given == nullptr || given->start : before == Word::Start;
    if (started_before == (now == Word::Start)) return;
    trace::Event event;
    event.kind = kind;
    event.size = 1;
    if (why != nullptr) event.aux = define(trace::DefinitionKind::String, why, static_cast<uint32_t>(strlen(why)));
    record(event, OpensRing::No, WithStack::No);
}

}  // namespace

Admission admit(Recording& recording, const trace::Event& event) {
    const Settings& given = *recording.settings;
    if (given.level == setting_type::Level::Driver && of_framework(event.kind)) return Admission::Refused;
    const bool is_stopped = stopped(given.start);
    if (is_stopped && left_out_while_stopped(event.kind)) return Admission::Refused;
    if (event.size < given.min_size && plain_allocation(event.kind)) {
        count_loss(trace::Loss::TooSmall);
        return Admission::Refused;
    }
    return is_stopped ? Admission::WithoutStack : Admission::Full;
}

void start_recording() {
    say(Word::Start, EventKind::RecordingStarted, nullptr);
}

void stop_recording() {
    say(Word::Stop, EventKind::RecordingStopped, "the program called stop()");
}

bool recording_wanted() {
    const Settings* given = settings();
    return given != nullptr && !given->disable && !stopped(given->start);
}

void announce_control(Recording& recording) {
    if (!stopped(recording.settings->start)) return;
    const char* why = word.load(std::memory_order_relaxed) == Word::Stop
                          ? "the program called stop()"
                          : "VRAMTRACE_START=0: the program has not called start() yet";
    trace::Event event;
    event.kind = EventKind::RecordingStopped;
    event.size = 1;
    event.aux = define(trace::DefinitionKind::String, why, static_cast<uint32_t>(strlen(why)));
    write_first(event);
}

}  // namespace vramtrace::shim
