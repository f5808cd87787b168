// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "analyzer/replay/live_set.h"
#include "analyzer/replay/observer.h"
#include "analyzer/replay/oddities.h"
#include "analyzer/replay/release_log.h"
#include "analyzer/replay/site.h"
#include "trace/event.h"

namespace vramtrace::replay {

// Who made a thing: an event's own caller, or, for graph memory, the node's.
struct Origin {
    SiteId site = 0;
    uint32_t stack = 0;
    uint32_t thread = 0;
    uint16_t context = trace::kNoContext;
    uint8_t device = trace::kNoDevice;
    uint8_t api = trace::kNoName;
    uint8_t label = trace::kNoName;
};

// WHAT ALL KINDS SHARE: the live set, the observers, the sites and the releases that may be taken back. The kinds with
// rules of their own (pools, virtual_memory, graphs, contexts, sharing) make and end things only through it.
class Core {
public:
    Core() : log_(live_) {}
    Core(const Core&) = delete;
    Core& operator=(const Core&) = delete;

    // --- making and ending -------------------------------------------------------------------------------------------
    // What an event says of a thing of that kind; name, bytes and the rest are filled by the caller.
    Allocation made_by(const trace::Event& event, Kind kind);
    Origin origin(const trace::Event& event, Kind kind, uint8_t device);
    // What is born from here on bears this mark.
    void tag_births(uint32_t tag) { tag_ = tag; }
    // Inserts it and tells the observers. What had the same name is closed as "lost free" first.
    Allocation* allocate(Allocation allocation, const trace::Event& event);
    void end(Allocation* allocation, Ending ending, const trace::Event& event);
    // Ends what has that name, or counts an unmatched release. True if there was one.
    bool release(Space space, uint64_t name, const trace::Event& event);

    void unmatched_release(const trace::Event& event);
    void unmatched_use(const trace::Event& event);

    // --- releases that may be refused ----------------------------------------------------------------------------------
    void begin_release(const trace::Event& event);
    void end_release() { open_ = nullptr; }
    // Something beyond the ends that the open release changed. No-op when none is open.
    void on_refusal(std::function<void()> take_back);
    void refuse(const trace::Event& free_failed, bool context_gone);
    // A release without outcome at the process's death.
    void in_flight(uint64_t ticket);

    LiveSet& live() { return live_; }
    const LiveSet& live() const { return live_; }
    SiteTable& sites() { return sites_; }
    const SiteTable& sites() const { return sites_; }
    Oddities& oddities() { return oddities_; }
    const Oddities& oddities() const { return oddities_; }
    std::vector<Observer*>& observers() { return observers_; }

private:
    using Verdict = void (Observer::*)(const Allocation&, const Release&);
    void forget_unmatched(const ReleaseRecord& record);
    void settle(ReleaseRecord& record, Verdict tell);

    LiveSet live_;
    ReleaseLog log_;
    SiteTable sites_;
    Oddities oddities_;
    std::vector<Observer*> observers_;
    ReleaseRecord* open_ = nullptr;
    uint64_t last_id_ = 0;
    uint32_t tag_ = 0;
};

// Refers to a thing across events: an address that is reused is not mistaken for it.
struct Reference {
    Allocation* allocation = nullptr;
    uint64_t id = 0;
    Reference() = default;
    explicit Reference(Allocation* a) : allocation(a), id(a->id) {}
    // The thing, if it is still (or again) live.
    Allocation* get(const LiveSet& live) const {
        return allocation != nullptr && allocation->id == id && live.is_live(allocation) ? allocation : nullptr;
    }
};

}  // namespace vramtrace::replay
