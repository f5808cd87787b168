// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>
#include <filesystem>

#include "tests/data/format_1_0.h"
#include "tests/support/catch.h"
#include "tests/support/random_events.h"
#include "trace/container/container_reader.h"

using namespace vramtrace;
using namespace vramtrace::trace;

TEST_CASE("a trace of format 1.0 is read as it was written") {
    namespace content = test::format_1_0;
    const auto data = std::filesystem::path(__FILE__).parent_path() / "../../../data";
    ContainerReader reader((data / "format-1.0.trace").string());
    std::vector<Event> batch;
    uint64_t ticket = 0;
    while (reader.next_batch(batch)) {
        for (const Event& event : batch) {
            while (content::abandoned(ticket)) ++ticket;
            INFO("ticket " << ticket);
            REQUIRE(test::same(event, test::as_kept(content::event(ticket))));
            ++ticket;
        }
    }
    reader.finish();
    CHECK(ticket == content::kTickets);

    const SourceStatus& status = reader.status();
    const ProcessIdentity expected = content::identity();
    CHECK(std::memcmp(&status.identity, &expected, sizeof(expected)) == 0);
    const EndRecord end = content::end();
    CHECK(status.end == end.end);
    CHECK(status.end_time == end.time);
    CHECK(status.in_flight == end.in_flight);
    CHECK(status.warnings == end.status.notes);
    CHECK(std::equal(std::begin(status.losses), std::end(status.losses), std::begin(end.status.losses)));
    CHECK(status.missing_tickets == end.status.missing_tickets);
    CHECK(status.first_loss_time == end.status.first_loss_time);
    CHECK(reader.void_tickets() == content::kTickets / 97);
    REQUIRE(reader.clocks().size() == 2);
    CHECK(reader.clocks()[1].monotonic == 6'000'000'000);
    CHECK(reader.clocks()[1].realtime == 1'700'000'001'000'000'500);

    uint64_t strings = 0;
    reader.definitions().for_each([&](DefinitionId id, DefinitionKind kind, std::span<const std::byte> body) {
        CHECK(kind == DefinitionKind::String);
        CHECK(std::string(reinterpret_cast<const char*>(body.data()), body.size()) == content::text(strings));
        CHECK(reader.definitions().body(id, kind).size() == body.size());
        ++strings;
    });
    CHECK(strings == content::kStrings);
}
