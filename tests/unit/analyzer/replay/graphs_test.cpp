// SPDX-License-Identifier: Apache-2.0
#include "analyzer/replay/graphs.h"

#include "tests/support/catch.h"
#include "tests/unit/analyzer/replay/live.h"

using namespace vramtrace;
using replay::Ending;
using replay::Kind;
using replay::Quantity;
using test::EventBuilder;
using test::Played;
using trace::EventKind;

TEST_CASE("a node has an address; memory comes with the launch", "[replay][graphs]") {
    EventBuilder job;
    job.stack(42).graph_alloc(0x1000, 100, 0xa, 1);
    REQUIRE(Played(job).bytes(Quantity::Device) == 0);
    job.stack(43).instantiate(0xe, 0xa);
    REQUIRE(Played(job).bytes(Quantity::Device) == 0);
    const uint64_t launch = job.stack(0).launch(0xe);
    const Played played(job);
    CHECK(played.bytes(Quantity::Device) == 100);
    const replay::Allocation* memory = played.only(Kind::GraphMemory);
    REQUIRE(memory != nullptr);
    CHECK(memory->stack == 42);  // where the node was asked for
    CHECK(memory->birth.ticket == launch);
    CHECK(memory->object == 0xe);
}

TEST_CASE("a second launch is not a second allocation", "[replay][graphs]") {
    const uint64_t flags = GENERATE(0, 1);  // 1: free on launch
    EventBuilder job;
    job.graph_alloc(0x1000, 100, 0xa, 1);
    job.instantiate(0xe, 0xa, flags);
    const uint64_t first = job.launch(0xe);
    job.launch(0xe);
    job.launch(0xe);
    const Played played(job);
    CHECK(played.bytes(Quantity::Device) == 100);
    CHECK(played.only(Kind::GraphMemory)->birth.ticket == first);
    CHECK(played.ended(Ending::LostFree) == 0);
}

TEST_CASE("graph memory freed between launches is allocated again by the next", "[replay][graphs]") {
    EventBuilder job;
    job.graph_alloc(0x1000, 100, 0xa, 1);
    job.instantiate(0xe, 0xa);
    job.launch(0xe);
    SECTION("cuMemFreeAsync") {
        job.pool_free(0x1000);
    }
    SECTION("cuMemFree") {
        job.device_free(0x1000);
    }
    SECTION("another graph's free node") {
        job.graph_free(0x1000, 0xb, 2);
        job.instantiate(0xf, 0xb);
        REQUIRE(Played(job).bytes(Quantity::Device) == 100);
        job.launch(0xf);
        CHECK(Played(job).ended(Ending::FreedByGraph) == 1);
    }
    REQUIRE(Played(job).bytes(Quantity::Device) == 0);
    job.launch(0xe);
    const Played played(job);
    CHECK(played.bytes(Quantity::Device) == 100);
    CHECK(played.replay.oddities().unmatched_releases == 0);
}

TEST_CASE("a free node ends memory within the launch, in the order of the nodes", "[replay][graphs]") {
    struct Most : replay::Observer {
        uint64_t live = 0, most = 0;
        void on_allocate(const replay::Allocation& a) override { most = std::max(most, live += a.counted_bytes()); }
        void on_release(const replay::Allocation& a, const replay::Release&) override { live -= a.counted_bytes(); }
    } most;
    EventBuilder job;
    job.graph_alloc(0x1000, 100, 0xa, 1);
    job.graph_free(0x1000, 0xa, 2);
    job.graph_alloc(0x1000, 60, 0xa, 3);  // the same address again, after the free
    job.graph_alloc(0x2000, 30, 0xa, 4);
    job.graph_free(0x1000, 0xa, 5);
    job.instantiate(0xe, 0xa);
    job.launch(0xe);
    replay::Replay replay;
    replay.attach(most);
    for (const auto& event : job.events()) replay.apply(event);
    CHECK(most.most == 100);
    CHECK(most.live == 30);
    CHECK(replay.oddities().lost_frees == 0);
}

TEST_CASE("what is live after a launch outlives graph and executable graph", "[replay][graphs]") {
    EventBuilder job;
    for (uint64_t cycle = 0; cycle < 10; ++cycle) {  // a new graph for each object, as in public reports
        job.object(EventKind::CaptureBegin, 0, 0, 0x5);
        job.graph_alloc(0x10000 + cycle * 0x1000, 64, 0xa);
        job.object(EventKind::CaptureEnd, 0xa, 0, 0x5);
        job.instantiate(0xe, 0xa, 1);
        job.launch(0xe);
        job.launch(0xe);
        job.object(EventKind::GraphExecDestroy, 0xe);
        job.object(EventKind::GraphDestroy, 0xa);
    }
    job.object(EventKind::GraphTrim, 0);
    const Played played(job);
    CHECK(played.bytes(Quantity::Device) == 640);
    CHECK(played.count(Kind::GraphMemory) == 10);
    CHECK(played.count(Kind::Graph) == 0);
    CHECK(played.count(Kind::GraphExec) == 0);
    size_t orphans = 0;
    played.replay.live().for_each([&](const auto& a) { orphans += (a.flags & replay::kOwnerDestroyed) != 0; });
    CHECK(orphans == 10);
    CHECK(played.replay.graphs().known() == 0);
}

TEST_CASE("graphs and executable graphs are handles that can stay open", "[replay][graphs]") {
    EventBuilder job;
    job.object(EventKind::CaptureBegin, 0, 0, 0x5);
    job.object(EventKind::CaptureEnd, 0xa, 0, 0x5);
    job.instantiate(0xe, 0xa);
    const Played played(job);
    CHECK(played.count(Kind::Graph) == 1);
    CHECK(played.count(Kind::GraphExec) == 1);
    CHECK(played.bytes(Quantity::Device) == 0);
}

TEST_CASE("captured nodes belong to the graph of their capture", "[replay][graphs]") {
    EventBuilder job;
    job.object(EventKind::CaptureBegin, 0, 0, 0x5);
    const uint64_t named = GENERATE(0, 0xa);  // events of a capture may not know the graph yet
    job.graph_alloc(0x1000, 100, named);
    REQUIRE(Played(job).count(Kind::Graph) == 0);
    SECTION("it ends well") {
        job.object(EventKind::CaptureEnd, 0xa, 0, 0x5);
        job.instantiate(0xe, 0xa);
        job.launch(0xe);
        CHECK(Played(job).bytes(Quantity::Device) == 100);
        CHECK(Played(job).count(Kind::Graph) == 1);
    }
    SECTION("it fails") {
        job.object(EventKind::CaptureEnd, 0, 0, 0x5);
        const Played played(job);
        CHECK(played.replay.live().size() == 0);
        CHECK(played.replay.graphs().known() == 0);
    }
}

TEST_CASE("a child graph moved into a parent is launched and destroyed with it", "[replay][graphs]") {
    EventBuilder job;
    job.graph_alloc(0x1000, 100, 0xc, 1);
    job.graph_alloc(0x2000, 10, 0xa, 2);
    job.object(EventKind::GraphChild, 0xa, 0, 0xc);
    job.instantiate(0xe, 0xa);
    job.launch(0xe);
    const Played played(job);
    CHECK(played.bytes(Quantity::Device) == 110);
    CHECK(played.count(Kind::Graph) == 1);
    job.object(EventKind::GraphDestroy, 0xa);
    CHECK(Played(job).replay.graphs().known() == 1);  // the executable one
}

TEST_CASE("a child without memory nodes changes nothing, nor does a circle", "[replay][graphs]") {
    EventBuilder job;
    job.object(EventKind::GraphChild, 0xa, 0, 0xc);
    job.graph_alloc(0x1000, 1, 0xa, 1);
    job.graph_alloc(0x2000, 1, 0xb, 2);
    job.object(EventKind::GraphChild, 0xa, 0, 0xb);
    job.object(EventKind::GraphChild, 0xb, 0, 0xa);
    job.object(EventKind::GraphChild, 0xa, 0, 0xa);
    job.instantiate(0xe, 0xa);
    job.launch(0xe);
    job.object(EventKind::GraphDestroy, 0xa);
    CHECK(Played(job).bytes(Quantity::Device) == 2);
}

TEST_CASE("a destroyed node is not launched", "[replay][graphs]") {
    EventBuilder job;
    job.graph_alloc(0x1000, 100, 0xa, 1);
    job.graph_alloc(0x2000, 10, 0xa, 2);
    job.object(EventKind::GraphNodeDestroy, 0, 0, 1);
    job.instantiate(0xe, 0xa);
    job.launch(0xe);
    CHECK(Played(job).bytes(Quantity::Device) == 10);
}

TEST_CASE("a refused destruction of an executable graph leaves it launchable", "[replay][graphs]") {
    EventBuilder job;
    job.graph_alloc(0x1000, 100, 0xa, 1);
    job.instantiate(0xe, 0xa);
    job.launch(0xe);
    job.free_failed(job.object(EventKind::GraphExecDestroy, 0xe), 1);
    const Played kept(job);
    CHECK(kept.count(Kind::GraphExec) == 1);
    CHECK((kept.only(Kind::GraphMemory)->flags & replay::kOwnerDestroyed) == 0);
    job.pool_free(0x1000);
    job.launch(0xe);
    CHECK(Played(job).bytes(Quantity::Device) == 100);
}

TEST_CASE("a launch of an unknown executable graph is counted", "[replay][graphs]") {
    EventBuilder job;
    job.launch(0xe);
    CHECK(Played(job).replay.oddities().unmatched_uses == 1);
}

TEST_CASE("a captured free that the driver refused is no node", "[replay][graphs]") {
    const uint64_t graph = GENERATE(0, 0xa);
    EventBuilder job;
    job.object(EventKind::CaptureBegin, 0, 0, 0x5);
    job.graph_alloc(0x1000, 100, graph);
    const uint64_t ticket = job.graph_free(0x1000, graph);
    const bool refused = GENERATE(false, true);
    if (refused) job.free_failed(ticket, 1);
    job.object(EventKind::CaptureEnd, 0xa, 0, 0x5);
    job.instantiate(0xe, 0xa);
    job.launch(0xe);
    CHECK(Played(job).bytes(Quantity::Device) == (refused ? 100 : 0));
}

TEST_CASE("a node whose destruction was refused is launched", "[replay][graphs]") {
    EventBuilder job;
    job.graph_alloc(0x1000, 100, 0xa, 1);
    job.free_failed(job.object(EventKind::GraphNodeDestroy, 0, 0, 1), 1);
    job.instantiate(0xe, 0xa);
    job.launch(0xe);
    CHECK(Played(job).bytes(Quantity::Device) == 100);
}
