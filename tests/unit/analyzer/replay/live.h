// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "analyzer/replay/replay.h"
#include "tests/support/event_builder.h"

// What the tests of replay/ ask: replay a job and look at what is live.
namespace vramtrace::test {

struct Played : replay::Observer {
    explicit Played(const EventBuilder& job) {
        replay.attach(*this);
        for (const trace::Event& event : job.events()) replay.apply(event);
    }

    uint64_t bytes(replay::Kind kind) const {
        uint64_t sum = 0;
        replay.live().for_each([&](const replay::Allocation& a) { sum += a.kind == kind ? a.bytes : 0; });
        return sum;
    }
    uint64_t count(replay::Kind kind) const {
        uint64_t sum = 0;
        replay.live().for_each([&](const replay::Allocation& a) { sum += a.kind == kind; });
        return sum;
    }
    uint64_t bytes(replay::Quantity quantity) const {
        uint64_t sum = 0;
        replay.live().for_each(
            [&](const replay::Allocation& a) { sum += a.quantity() == quantity ? a.counted_bytes() : 0; });
        return sum;
    }
    const replay::Allocation* only(replay::Kind kind) const {
        const replay::Allocation* found = nullptr;
        replay.live().for_each([&](const replay::Allocation& a) {
            if (a.kind == kind) found = &a;
        });
        return count(kind) == 1 ? found : nullptr;
    }
    size_t ended(replay::Ending ending) const {
        size_t sum = 0;
        for (const replay::Release& release : releases) sum += release.ending == ending;
        return sum;
    }

    void on_allocate(const replay::Allocation&) override { ++allocated; }
    void on_release(const replay::Allocation& allocation, const replay::Release& release) override {
        releases.push_back(release);
        last_released = allocation;
    }
    void on_restore(const replay::Allocation&, const replay::Release&, replay::Moment) override { ++restored; }
    void on_context_lost(const replay::Allocation&, const replay::Release&) override { ++context_lost; }

    replay::Replay replay;
    size_t allocated = 0, restored = 0, context_lost = 0;
    std::vector<replay::Release> releases;
    replay::Allocation last_released;
};

}  // namespace vramtrace::test
