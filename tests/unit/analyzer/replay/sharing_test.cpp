// SPDX-License-Identifier: Apache-2.0
#include "analyzer/replay/sharing.h"

#include "tests/support/catch.h"
#include "tests/unit/analyzer/replay/live.h"

using namespace vramtrace;
using replay::Kind;
using replay::Quantity;
using test::EventBuilder;
using test::Played;
using trace::EventKind;

TEST_CASE("memory opened by IPC is listed and counts 0 bytes", "[replay][sharing]") {
    EventBuilder job;
    job.add(EventKind::IpcOpen, {0x1000, 4096, 0, 77, 0});
    const Played open(job);
    CHECK(open.bytes(Quantity::Device) == 0);
    CHECK(open.only(Kind::IpcMemory)->object == 77);  // what an exporter is joined by
    job.address(EventKind::IpcClose, 0x1000);
    CHECK(Played(job).replay.live().size() == 0);
}

TEST_CASE("opened twice, closed twice", "[replay][sharing]") {
    EventBuilder job;
    job.add(EventKind::IpcOpen, {0x1000, 4096, 0, 77, 0});
    job.add(EventKind::IpcOpen, {0x1000, 4096, 0, 77, 0});
    job.free_failed(job.address(EventKind::IpcClose, 0x1000), 1);
    job.address(EventKind::IpcClose, 0x1000);
    REQUIRE(Played(job).count(Kind::IpcMemory) == 1);
    job.address(EventKind::IpcClose, 0x1000);
    const Played played(job);
    CHECK(played.count(Kind::IpcMemory) == 0);
    CHECK(played.replay.oddities().lost_frees == 0);
    CHECK(played.replay.oddities().unmatched_releases == 0);
}

TEST_CASE("external memory: the import, its buffers and mipmaps each end by their own call", "[replay][sharing]") {
    EventBuilder job;
    job.object(EventKind::ExternalImport, 0xe, 4096);
    job.add(EventKind::ExternalBuffer, {0x1000, 1024, 0xe, 0, 0});
    job.object(EventKind::ExternalMipmap, 0xf, 0, 0xe);
    job.object(EventKind::ExternalDestroy, 0xe);  // does not free what was mapped from it
    const Played played(job);
    CHECK(played.bytes(Quantity::Device) == 0);
    CHECK(played.count(Kind::ExternalMemory) == 0);
    CHECK(played.count(Kind::ExternalBuffer) == 1);
    CHECK(played.count(Kind::ExternalMipmap) == 1);
    job.device_free(0x1000);
    job.object(EventKind::MipmapDestroy, 0xf);
    CHECK(Played(job).replay.live().size() == 0);
}

TEST_CASE("a graphics resource is one handle, however often it is mapped", "[replay][sharing]") {
    EventBuilder job;
    job.object(EventKind::GraphicsMap, 0x9);
    job.add(EventKind::GraphicsPointer, {0x1000, 64, 0x9, 0, 0});
    CHECK((Played(job).only(Kind::GraphicsResource)->flags & replay::kMappedNow) != 0);
    job.object(EventKind::GraphicsUnmap, 0x9);
    job.object(EventKind::GraphicsMap, 0x9);
    job.free_failed(job.object(EventKind::GraphicsUnmap, 0x9), 1);
    CHECK((Played(job).only(Kind::GraphicsResource)->flags & replay::kMappedNow) != 0);
    job.object(EventKind::GraphicsUnmap, 0x9);
    CHECK(Played(job).only(Kind::GraphicsResource)->flags == 0);
    job.object(EventKind::GraphicsUnregister, 0x9);
    job.object(EventKind::GraphicsUnregister, 0x8);  // never mapped: never seen
    const Played played(job);
    CHECK(played.replay.live().size() == 0);
    CHECK(played.replay.oddities().unmatched_releases == 0);
}
