// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <unordered_map>
#include <vector>

#include "analyzer/replay/allocation.h"
#include "analyzer/replay/live_set.h"
#include "trace/event.h"

namespace vramtrace::replay {

struct Ended {
    Allocation* allocation = nullptr;  // parked in the live set
    Ending ending = Ending::Freed;
};

// One release and how to take it back.
struct ReleaseRecord {
    uint64_t ticket = 0;
    trace::EventKind kind = trace::EventKind::None;
    bool known = false;   // it was of something
    bool matched = true;  // … that was live
    Release release;
    std::vector<Ended> ended;
    std::vector<std::function<void()>> take_back;  // what else it changed; undone from last to first
};

// THE RELEASES THAT MAY STILL BE REFUSED. A release is recorded before its real call and a refusal right after it by the
// same thread, so a thread's last few (callbacks nest) are all that can be taken back, or be in flight at the end.
// Memory: a handful of records a thread, for at most kThreads threads.
class ReleaseLog {
public:
    explicit ReleaseLog(LiveSet& live) : live_(live) {}

    ReleaseRecord& open(const trace::Event& event);
    // The record of that ticket, or nothing. The thread is where it is looked for first.
    ReleaseRecord* find(uint64_t ticket, uint32_t thread);
    // Forgets a record that was taken back.
    void close(ReleaseRecord& record);

private:
    static constexpr size_t kDepth = 4;
    static constexpr size_t kThreads = 65536;
    struct OfThread {
        std::array<ReleaseRecord, kDepth> records;
        size_t next = 0;
        uint64_t last_ticket = 0;
    };

    OfThread& of_thread(uint32_t thread);
    void forget_silent_threads();
    void clear(ReleaseRecord& record);

    LiveSet& live_;
    std::unordered_map<uint32_t, std::unique_ptr<OfThread>> threads_;
    uint32_t cached_thread_ = 0;
    OfThread* cached_ = nullptr;
};

}  // namespace vramtrace::replay
