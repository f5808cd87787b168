// SPDX-License-Identifier: Apache-2.0
#include "trace/container/event_columns.h"

#include <random>

#include "tests/support/catch.h"
#include "tests/support/random_events.h"

using namespace vramtrace;
using namespace vramtrace::trace;

namespace {

void check_round_trip(const std::vector<Event>& events, uint64_t first, uint32_t tickets) {
    EventEncoder encoder;
    EventDecoder decoder;
    for (int pass = 0; pass < 2; ++pass) {  // the second with what the first left in both
        std::vector<Event> read;
        REQUIRE(decoder.decode(encoder.encode(events, first), first, tickets, read));
        REQUIRE(read.size() == events.size());
        for (size_t i = 0; i < events.size(); ++i) {
            INFO("event " << i);
            REQUIRE(test::same(read[i], test::as_kept(events[i])));
        }
    }
}

}  // namespace

TEST_CASE("events of every shape come back as they were, but for the nanoseconds") {
    for (uint32_t seed = 0; seed < 20; ++seed)
        check_round_trip(test::wild_events(500, seed * 1000, seed), seed * 1000, 500);
    check_round_trip(test::wild_events(kMaxBlockEvents, 0, 99), 0, kMaxBlockEvents);
    check_round_trip(test::wild_events(3, ~0ULL - 5, 1), ~0ULL - 5, 3);
    check_round_trip({}, 12, 0);
}

TEST_CASE("churn comes back, with and without abandoned tickets") {
    check_round_trip(test::churn(10000, 0, 1), 0, 10000);
    std::vector<Event> holed;
    for (const Event& event : test::churn(1000, 100, 2)) {
        if (event.sequence % 7 != 0 && event.sequence / 50 != 9) holed.push_back(event);
    }
    check_round_trip(holed, 100, 1000);
    check_round_trip(holed, 90, 1200);
    check_round_trip({}, 90, 1200);
}

TEST_CASE("an event costs less than 8 bytes before compression is even tried in earnest") {
    EventEncoder encoder;
    const auto events = test::churn(kMaxBlockEvents, 0, 3);
    CHECK(encoder.encode(events, 0).size() < 10 * events.size());
}

TEST_CASE("columns of a later minor version are passed over") {
    EventEncoder encoder;
    const auto events = test::churn(100, 0, 4);
    const auto bytes = encoder.encode(events, 0);
    std::vector<std::byte> longer(bytes.begin(), bytes.end());
    for (const int byte : {200, 3, 1, 2, 3}) longer.push_back(static_cast<std::byte>(byte));
    std::vector<Event> read;
    EventDecoder decoder;
    REQUIRE(decoder.decode(longer, 0, 100, read));
    CHECK(read.size() == 100);
}

TEST_CASE("damaged columns are refused or read as something, never beyond their bounds") {
    std::mt19937 random(5);
    EventEncoder encoder;
    EventDecoder decoder;
    const auto bytes = encoder.encode(test::churn(300, 0, 6), 0);
    const std::vector<std::byte> good(bytes.begin(), bytes.end());
    for (size_t length = 0; length < good.size(); ++length) {
        std::vector<Event> read;
        if (!decoder.decode(std::span(good).first(length), 0, 300, read)) CHECK(read.empty());
        CHECK(read.size() <= 300);
    }
    for (int round = 0; round < 20000; ++round) {
        std::vector<std::byte> bad = good;
        for (int flips = 1 + static_cast<int>(random() % 4); flips > 0; --flips) {
            bad[random() % bad.size()] = static_cast<std::byte>(random());
        }
        std::vector<Event> read;
        if (!decoder.decode(bad, 0, 300, read)) CHECK(read.empty());
        CHECK(read.size() <= 300);
        for (const Event& event : read) REQUIRE(event.sequence < 300);
    }
}

TEST_CASE("a count that the bytes cannot hold takes no memory") {
    ByteSink bytes;
    bytes.varint(~0ULL);
    bytes.varint(~0ULL);
    EventDecoder decoder;
    std::vector<Event> read;
    CHECK_FALSE(decoder.decode(bytes.bytes(), 0, ~0U, read));
    bytes.clear();
    bytes.varint(0);
    bytes.varint(1ULL << 40);
    CHECK_FALSE(decoder.decode(bytes.bytes(), 0, ~0U, read));
}
