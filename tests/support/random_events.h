// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <cstring>
#include <random>
#include <utility>
#include <vector>

#include "trace/event.h"
#include "trace/process_header.h"

// Events for tests of everything that carries them: not sensible, but of every shape.
namespace vramtrace::test {

// What the container keeps of an event: all but the nanoseconds below a microsecond.
inline trace::Event as_kept(trace::Event event) {
    event.time -= event.time % 1000;
    return event;
}

inline bool same(const trace::Event& a, const trace::Event& b) {
    return std::memcmp(&a, &b, sizeof(a)) == 0;
}

// Every field random, in narrow and in full ranges by turns; kinds known and unknown alike.
inline std::vector<trace::Event> wild_events(size_t count, uint64_t first_ticket, uint32_t seed) {
    std::mt19937_64 random(seed);
    const auto any = [&]() -> uint64_t {
        switch (random() % 5) {
            case 0:
                return 0;
            case 1:
                return random() % 4;
            case 2:
                return (random() % 64) << 21;
            case 3:
                return ~0ULL - random() % 3;
            default:
                return random();
        }
    };
    std::vector<trace::Event> events(count);
    for (trace::Event& event : events) {
        event.sequence = first_ticket++;
        event.time = any();
        event.address = any();
        event.size = any();
        event.object = any();
        event.aux = any();
        event.stack = static_cast<uint32_t>(any());
        event.thread = static_cast<uint32_t>(any());
        event.kind = static_cast<trace::EventKind>(any());
        event.device = static_cast<uint8_t>(any());
        event.context = static_cast<uint16_t>(any());
        event.api = static_cast<uint8_t>(any());
        event.label = static_cast<uint8_t>(any());
        event.result = static_cast<uint16_t>(any());
    }
    return events;
}

// Allocations and frees as a busy job makes them: `sites` call sites in four threads, addresses used again.
inline std::vector<trace::Event> churn(size_t count, uint64_t first_ticket, uint32_t seed, uint32_t sites = 500) {
    std::mt19937_64 random(seed);
    std::vector<std::pair<uint64_t, uint32_t>> live;  // address, site
    std::vector<std::vector<uint64_t>> freed(sites);
    uint64_t fresh = 0x7f1200000000, time = 1'000'000'000'000;
    std::vector<trace::Event> events;
    while (events.size() < count) {
        trace::Event event;
        event.sequence = first_ticket++;
        event.time = time += 200 + random() % 9000;
        event.device = 0;
        event.context = 1;
        uint32_t site = static_cast<uint32_t>(random() % sites * (random() % sites) / sites);
        if (live.size() < 1000 || random() % 2 == 0) {
            const uint64_t bytes = 512ULL * (1 + site * 7919ULL % 4000);
            event.kind = trace::EventKind::PoolAlloc;
            event.size = random() % 8 == 0 ? bytes - random() % 512 : bytes;
            if (freed[site].empty()) {
                event.address = fresh;
                fresh += bytes;
            } else {
                event.address = freed[site].back();
                freed[site].pop_back();
            }
            event.stack = 17 * (1 + site);
            live.emplace_back(event.address, site);
        } else {
            const size_t victim = random() % live.size();
            std::swap(live[victim], live.back());
            event.kind = trace::EventKind::PoolFree;
            event.address = live.back().first;
            site = live.back().second;
            live.pop_back();
            freed[site].push_back(event.address);
            event.stack = 17 * (1 + sites + site);
        }
        event.thread = 4000 + site % 4;
        event.api = event.kind == trace::EventKind::PoolAlloc ? 5 : 6;
        event.label = event.kind == trace::EventKind::PoolAlloc ? 7 : 8;
        event.aux = 0x55aa1230ULL + site % 4 * 0x100ULL;
        events.push_back(event);
    }
    return events;
}

inline trace::ProcessIdentity some_identity(uint32_t pid = 4711) {
    trace::ProcessIdentity identity;
    identity.pid = pid;
    identity.start_time = 123456;
    identity.open_monotonic = 1'000'000'000'000;
    std::strcpy(identity.boot_id, "00000000-1111-2222-3333-444444444444");
    std::strcpy(identity.host, "node1");
    return identity;
}

}  // namespace vramtrace::test
