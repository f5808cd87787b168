// SPDX-License-Identifier: Apache-2.0
#include "analyzer/instant/page_footprint.h"

#include <map>
#include <random>
#include <set>

#include "analyzer/replay/replay.h"
#include "tests/support/catch.h"
#include "tests/support/event_builder.h"

using namespace vramtrace;
using instant::kPageBytes;
using instant::PageFootprint;
using test::EventBuilder;

namespace {

uint64_t footprint(const EventBuilder& job, uint8_t device = 0) {
    PageFootprint pages;
    replay::Replay replay;
    replay.attach(pages);
    for (const auto& event : job.events()) replay.apply(event);
    return pages.of(device).footprint;
}

constexpr uint64_t kKiB = 1024, kMiB = 1024 * kKiB;
constexpr uint64_t kBase = 0x7f1200000000;

}  // namespace

TEST_CASE("device bytes used by 64 pieces, as measured", "[instant][pages]") {
    struct Row {
        uint64_t size, spacing, used_per_piece;
    };
    const Row row = GENERATE(Row{1, 512, 32 * kKiB}, Row{512, 512, 32 * kKiB}, Row{4 * kKiB, 4 * kKiB, 32 * kKiB},
                             Row{64 * kKiB, 64 * kKiB, 64 * kKiB}, Row{kMiB, kMiB, kMiB},
                             Row{2 * kMiB, 2 * kMiB, 2 * kMiB}, Row{2 * kMiB + 1, 4 * kMiB, 4 * kMiB},
                             Row{3 * kMiB, 4 * kMiB, 4 * kMiB}, Row{20 * kMiB, 32 * kMiB, 20 * kMiB});
    EventBuilder job;
    for (uint64_t i = 0; i < 64; ++i) job.device_alloc(kBase + i * row.spacing, row.size);
    CHECK(footprint(job) == 64 * row.used_per_piece);
}

TEST_CASE("every second of many small pieces freed gives nothing back", "[instant][pages]") {
    EventBuilder job;
    for (uint64_t i = 0; i < 65536; ++i) job.device_alloc(kBase + i * 512, 512);
    REQUIRE(footprint(job) == 32 * kMiB);
    for (uint64_t i = 0; i < 65536; i += 2) job.device_free(kBase + i * 512);
    CHECK(footprint(job) == 32 * kMiB);
    for (uint64_t i = 1; i < 65536; i += 2) job.device_free(kBase + i * 512);
    CHECK(footprint(job) == 0);
}

TEST_CASE("only plain device memory is paged so, each device for itself", "[instant][pages]") {
    EventBuilder job;
    job.pool_alloc(kBase, 100);
    job.managed_alloc(kBase + kMiB, 100);
    job.physical_create(5, 2 * kMiB);
    job.device(1).device_alloc(kBase + 64 * kMiB, 100);
    CHECK(footprint(job, 0) == 0);
    CHECK(footprint(job, 1) == kPageBytes);
}

TEST_CASE("pages against a set of pages, with refused frees", "[instant][pages]") {
    std::mt19937_64 random(11);
    PageFootprint pages;
    replay::Replay replay;
    replay.attach(pages);
    std::map<uint64_t, uint64_t> live;
    trace::Event event;
    event.device = 0;
    uint64_t next = kBase;
    uint64_t most = 0;
    for (uint64_t step = 0; step < 4000; ++step) {
        event.sequence = event.time = 2 * step;
        event.size = 0;
        event.result = 0;
        if (live.empty() || random() % 5 < 3) {
            const uint64_t size = random() % 2 == 0 ? 1 + random() % 5000 : 1 + random() % (5 * kMiB);
            event.kind = trace::EventKind::DeviceAlloc;
            event.address = next += random() % 3 * 512;
            event.size = size;
            live[next] = size;
            next += (size + 511) / 512 * 512;
            replay.apply(event);
        } else {
            auto victim = live.lower_bound(kBase + random() % (next - kBase));
            if (victim == live.end()) victim = live.begin();
            event.kind = trace::EventKind::DeviceFree;
            event.address = victim->first;
            replay.apply(event);
            if (random() % 8 == 0) {
                event.kind = trace::EventKind::FreeFailed;
                event.size = event.sequence;
                event.sequence = event.time = 2 * step + 1;
                event.result = 1;
                replay.apply(event);
            } else {
                live.erase(victim);
            }
        }
        if (step % 16 != 0) continue;
        std::set<uint64_t> touched;
        for (const auto& [address, size] : live) {
            for (uint64_t page = address / kPageBytes; page <= (address + size - 1) / kPageBytes; ++page)
                touched.insert(page);
        }
        REQUIRE(pages.of(0).footprint == touched.size() * kPageBytes);
        most = std::max(most, pages.of(0).footprint);
    }
    CHECK(pages.of(0).peak >= most);
}
