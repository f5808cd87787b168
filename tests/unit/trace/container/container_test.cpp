// SPDX-License-Identifier: Apache-2.0
#include "trace/container/container_reader.h"
#include "trace/container/container_writer.h"

#include <algorithm>
#include <cstring>
#include <filesystem>

#include "tests/support/catch.h"
#include "tests/support/random_events.h"
#include "tests/support/scratch_directory.h"
#include "trace/container/hash64.h"
#include "trace/container/input_error.h"
#include "trace/ring/definition_image.h"

using namespace vramtrace;
using namespace vramtrace::trace;

namespace {

// An image with `count` strings, each committed; the id of record n in ids[n].
std::vector<std::byte> some_image(size_t count, std::vector<DefinitionId>& ids) {
    std::vector<std::byte> image(kFirstRecord);
    for (size_t i = 0; i < count; ++i) {
        const std::string text = "definition number " + std::to_string(i);
        DefinitionHeader header;
        header.body_bytes = static_cast<uint32_t>(text.size());
        header.kind = DefinitionKind::String;
        header.commit = kDefinitionCommitted;
        header.hash = definition_hash(text.data(), text.size());
        ids.push_back(static_cast<DefinitionId>(image.size() / kDefinitionAlignment));
        const size_t at = image.size();
        image.resize(at + record_bytes(header.body_bytes));
        std::memcpy(&image[at], &header, sizeof(header));
        std::memcpy(&image[at + sizeof(header)], text.data(), text.size());
    }
    return image;
}

struct Read {
    std::vector<Event> events;
    SourceStatus status;
    size_t clocks = 0;
    bool ended = false;
};

Read read_all(const std::string& path) {
    ContainerReader reader(path);
    Read read;
    std::vector<Event> batch;
    while (reader.next_batch(batch)) read.events.insert(read.events.end(), batch.begin(), batch.end());
    reader.finish();
    read.status = reader.status();
    read.clocks = reader.clocks().size();
    read.ended = reader.ended();
    return read;
}

// What is read must be a sub-sequence of what was written, event for event.
void check_part_of(const std::vector<Event>& part, const std::vector<Event>& whole) {
    uint64_t next = 0;
    for (const Event& event : part) {
        REQUIRE(event.sequence >= next);
        REQUIRE(event.sequence < whole.size());
        REQUIRE(test::same(event, test::as_kept(whole[event.sequence])));
        next = event.sequence + 1;
    }
}

EndRecord some_end() {
    EndRecord end;
    end.end = SourceStatus::End::Vanished;
    end.time = 5'000'000;
    end.status.losses[0] = 3;
    end.status.losses[5] = 1ULL << 40;
    end.status.notes = {"The disk was full for a while."};
    end.in_flight = {7, 90};
    return end;
}

// A container with all kinds of blocks: events in blocks of `block`.
std::vector<Event> write_sample(const std::string& path, size_t count, size_t block) {
    std::vector<DefinitionId> ids;
    const auto image = some_image(40, ids);
    const auto events = test::wild_events(count, 0, 11);
    ContainerWriter writer(path, test::some_identity());
    REQUIRE(writer.append_clocks({1000, 2000}));
    REQUIRE(writer.append_definitions(kFirstRecord, std::span(image).subspan(kFirstRecord)));
    for (size_t at = 0; at < count; at += block) {
        const size_t part = std::min(block, count - at);
        REQUIRE(writer.append_events(std::span(events).subspan(at, part), at, static_cast<uint32_t>(part)));
    }
    REQUIRE(writer.append_status({}));
    REQUIRE(writer.append_end(some_end(), count));
    return events;
}

std::string why(const std::string& path) {
    try {
        ContainerReader reader(path);
    } catch (const InputError& error) {
        return error.what();
    }
    return "(readable)";
}

}  // namespace

TEST_CASE("a container gives back what was put in") {
    test::ScratchDirectory scratch;
    const std::string path = scratch.file("a.trace");
    const auto events = write_sample(path, 5000, 700);
    const Read read = read_all(path);
    REQUIRE(read.events.size() == events.size());
    check_part_of(read.events, events);
    CHECK(read.ended);
    CHECK(read.clocks == 1);
    CHECK(read.status.identity.pid == 4711);
    CHECK(std::string(read.status.identity.host) == "node1");
    CHECK(read.status.end == SourceStatus::End::Vanished);
    CHECK(read.status.end_value == -1);
    CHECK(read.status.end_time == 5'000'000);
    CHECK(read.status.losses[0] == 3);
    CHECK(read.status.losses[5] == 1ULL << 40);
    CHECK(read.status.in_flight == std::vector<uint64_t>{7, 90});
    CHECK(read.status.missing_tickets == 0);
    CHECK(read.status.warnings == std::vector<std::string>{"The disk was full for a while."});
}

TEST_CASE("definitions: later ranges overlay earlier ones, and are there before the events that name them") {
    test::ScratchDirectory scratch;
    const std::string path = scratch.file("a.trace");
    std::vector<DefinitionId> ids;
    auto image = some_image(3, ids);
    auto early = image;
    const size_t second = size_t{ids[1]} * kDefinitionAlignment;
    std::memset(&early[second + offsetof(DefinitionHeader, commit)], 0, 2);  // not yet committed when first copied
    Event event = test::wild_events(1, 0, 1)[0];
    {
        ContainerWriter writer(path, test::some_identity());
        REQUIRE(writer.append_definitions(kFirstRecord, std::span(early).subspan(kFirstRecord)));
        REQUIRE(writer.append_events({&event, 1}, 0, 1));
        event.sequence = 1;
        REQUIRE(writer.append_definitions(second, std::span(image).subspan(second, 64)));
        REQUIRE(writer.append_events({&event, 1}, 1, 1));
    }
    ContainerReader reader(path);
    std::vector<Event> batch;
    REQUIRE(reader.next_batch(batch));
    CHECK(reader.definitions().body(ids[0], DefinitionKind::String).size() == 19);
    CHECK(reader.definitions().body(ids[1], DefinitionKind::String).empty());
    CHECK(reader.definitions().body(ids[2], DefinitionKind::String).size() == 19);
    CHECK(reader.definitions().body(ids[2], DefinitionKind::Stack).empty());
    CHECK(reader.definitions().body(ids[2] + 1, DefinitionKind::String).empty());
    CHECK(reader.definitions().body(0, DefinitionKind::String).empty());
    CHECK(reader.definitions().body(~0U, DefinitionKind::String).empty());
    REQUIRE(reader.next_batch(batch));
    CHECK(reader.definitions().body(ids[1], DefinitionKind::String).size() == 19);
    size_t visited = 0;
    reader.definitions().for_each([&](DefinitionId, DefinitionKind, std::span<const std::byte>) { ++visited; });
    CHECK(visited == 3);
}

TEST_CASE("a gap in the tickets between blocks is counted, abandoned tickets within one are not") {
    test::ScratchDirectory scratch;
    const std::string path = scratch.file("a.trace");
    auto events = test::wild_events(100, 0, 3);
    {
        ContainerWriter writer(path, test::some_identity());
        REQUIRE(writer.append_events(std::span(events).first(10), 0, 20));
        REQUIRE(writer.append_events(std::span(events).subspan(30, 10), 30, 10));
        REQUIRE(writer.append_end({}, 45));
    }
    CHECK(read_all(path).status.missing_tickets == 15);
}

TEST_CASE("cut off at any length, a container gives its whole blocks and says what is missing") {
    test::ScratchDirectory scratch;
    const std::string path = scratch.file("a.trace"), cut = scratch.file("cut.trace");
    const auto events = write_sample(path, 300, 60);
    const auto whole = test::read_file(path);
    size_t last = 0;
    for (size_t length = 0; length < whole.size(); ++length) {
        test::write_file(cut, std::span(whole).first(length));
        if (length < kContainerHeaderBytes) {
            const std::string sentence = why(cut);
            INFO(length << ": " << sentence);
            CHECK_THAT(sentence, ContainsSubstring(length == 0 ? "is empty" : length < 24 ? "cut off" : "cut off"));
            continue;
        }
        const Read read = read_all(cut);
        check_part_of(read.events, events);
        CHECK(read.events.size() % 60 == 0);
        CHECK(read.events.size() >= last);
        CHECK_FALSE(read.ended);
        last = read.events.size();
    }
    CHECK(last == 300);
}

TEST_CASE("a flipped bit anywhere costs at most its own block and never goes unnoticed") {
    test::ScratchDirectory scratch;
    const std::string path = scratch.file("a.trace"), bad = scratch.file("bad.trace");
    const auto events = write_sample(path, 120, 30);
    const auto whole = test::read_file(path);
    const Read good = read_all(path);
    for (size_t at = 0; at < whole.size(); ++at) {
        auto bytes = whole;
        bytes[at] ^= static_cast<std::byte>(1U << (at % 8));
        test::write_file(bad, bytes);
        INFO("byte " << at);
        Read read;
        try {
            read = read_all(bad);
        } catch (const InputError&) {
            CHECK(at < sizeof(FormatHeader));
            continue;
        }
        check_part_of(read.events, events);
        CHECK(read.events.size() >= 90);
        const uint64_t lost = events.size() - read.events.size();
        CHECK(read.status.missing_tickets == lost);
        // Only the zeros between the header and the first block mean nothing.
        const bool in_padding = at >= sizeof(ContainerHeader) && at < kContainerHeaderBytes;
        const bool minor = at == 10 || at == 11;
        if (!in_padding && !minor)
            CHECK(read.status.warnings.size() > good.status.warnings.size() - (read.ended ? 0 : 1));
    }
}

TEST_CASE("a writer continues a torn file: the tail goes, no ticket twice, none missing") {
    test::ScratchDirectory scratch;
    const std::string path = scratch.file("a.trace"), cut = scratch.file("cut.trace");
    const auto events = test::wild_events(400, 0, 5);
    {
        ContainerWriter writer(path, test::some_identity());
        for (size_t at = 0; at < 300; at += 60)
            REQUIRE(writer.append_events(std::span(events).subspan(at, 60), at, 60));
    }
    const auto whole = test::read_file(path);
    for (size_t length = 0; length <= whole.size(); length += 7) {
        test::write_file(cut, std::span(whole).first(length));
        {
            ContainerWriter writer(cut, test::some_identity());
            const uint64_t next = writer.next_ticket();
            REQUIRE(next % 60 == 0);
            REQUIRE(writer.append_events(std::span(events).subspan(next), next, static_cast<uint32_t>(400 - next)));
            REQUIRE(writer.append_end({}, 400));
        }
        const Read read = read_all(cut);
        REQUIRE(read.events.size() == 400);
        check_part_of(read.events, events);
        CHECK(read.status.warnings.empty());
        CHECK(read.status.missing_tickets == 0);
        CHECK(ContainerWriter(cut, test::some_identity()).ended());
    }
}

TEST_CASE("a writer continues behind damage in the middle and cuts nothing that is good") {
    test::ScratchDirectory scratch;
    const std::string path = scratch.file("a.trace");
    const auto events = test::wild_events(200, 0, 5);
    uint64_t second = 0;
    {
        ContainerWriter writer(path, test::some_identity());
        REQUIRE(writer.append_events(std::span(events).first(50), 0, 50));
        second = writer.file_bytes();
        REQUIRE(writer.append_events(std::span(events).subspan(50, 50), 50, 50));
        REQUIRE(writer.append_events(std::span(events).subspan(100, 50), 100, 50));
    }
    for (const size_t at : {second + 5, second + 100}) {
        auto bytes = test::read_file(path);
        bytes[at] ^= std::byte{4};
        test::write_file(path, bytes);
    }
    {
        ContainerWriter writer(path, test::some_identity());
        CHECK(writer.next_ticket() == 150);
        CHECK(writer.cut_bytes() == 0);
        REQUIRE(writer.append_events(std::span(events).subspan(150), 150, 50));
    }
    const Read read = read_all(path);
    CHECK(read.events.size() == 150);
    CHECK(read.status.missing_tickets == 50);
    check_part_of(read.events, events);
}

TEST_CASE("a resumed writer knows which definitions it has") {
    test::ScratchDirectory scratch;
    const std::string path = scratch.file("a.trace");
    std::vector<DefinitionId> ids;
    const auto image = some_image(10, ids);
    const auto at = [&](size_t n) { return size_t{ids[n]} * kDefinitionAlignment; };
    const auto part = [&](size_t from, size_t to) { return std::span(image).subspan(at(from), at(to) - at(from)); };
    {
        ContainerWriter writer(path, test::some_identity());
        CHECK(writer.definitions_end() == kFirstRecord);
        REQUIRE(writer.append_definitions(at(0), part(0, 3)));
        REQUIRE(writer.append_definitions(at(4), part(4, 6)));  // record 3 is not committed yet
        REQUIRE(writer.append_definitions(at(7), part(7, 8)));
        CHECK(writer.definitions_end() == at(3));
    }
    ContainerWriter writer(path, test::some_identity());
    CHECK(writer.definitions_end() == at(3));
    REQUIRE(writer.append_definitions(at(3), part(3, 4)));
    CHECK(writer.definitions_end() == at(6));
}

TEST_CASE("a writer refuses what is not its own") {
    test::ScratchDirectory scratch;
    const std::string path = scratch.file("a.trace");
    write_sample(path, 10, 10);
    CHECK_THROWS_AS(ContainerWriter(path, test::some_identity(4712)), InputError);
    std::vector<std::byte> foreign(1000, std::byte{'x'});
    test::write_file(path, foreign);
    CHECK_THROWS_AS(ContainerWriter(path, test::some_identity()), InputError);
    CHECK(test::read_file(path) == foreign);
}

TEST_CASE("holes of a file are skipped, however large, and the blocks behind them found") {
    test::ScratchDirectory scratch;
    const std::string path = scratch.file("a.trace");
    write_sample(path, 100, 10);
    const auto bytes = test::read_file(path);
    constexpr uint64_t kHole = uint64_t{1} << 40;  // would take minutes to read
    std::filesystem::resize_file(path, kHole);
    BlockFile before(path);
    size_t blocks = 0;
    while (before.next()) ++blocks;
    REQUIRE(blocks > 2);

    std::ofstream behind(path, std::ios::binary | std::ios::in | std::ios::out);
    behind.seekp(static_cast<std::streamoff>(kHole));
    const std::span content = std::span(bytes).subspan(kContainerHeaderBytes);
    behind.write(reinterpret_cast<const char*>(content.data()), static_cast<std::streamsize>(content.size()));
    behind.close();
    BlockFile after(path);
    size_t again = 0;
    while (after.next()) ++again;
    CHECK(again == 2 * blocks);
}

TEST_CASE("files that cannot be read are refused in one sentence") {
    test::ScratchDirectory scratch;
    const std::string path = scratch.file("a.trace");
    CHECK_THAT(why(path), ContainsSubstring("cannot be opened"));
    CHECK_THAT(why(scratch.path()), ContainsSubstring("is not a file"));
    test::write_file(path, {});
    CHECK_THAT(why(path), ContainsSubstring("is empty"));
    test::write_file(path, std::vector<std::byte>(5000, std::byte{'#'}));
    CHECK_THAT(why(path), ContainsSubstring("is not a vramtrace trace"));

    std::filesystem::remove(path);
    write_sample(path, 10, 10);
    auto bytes = test::read_file(path);
    const auto patched = [&](size_t offset, auto value) {
        auto copy = bytes;
        std::memcpy(&copy[offset], &value, sizeof(value));
        test::write_file(path, copy);
        return why(path);
    };
    CHECK_THAT(patched(offsetof(FormatHeader, major), uint16_t{2}), ContainsSubstring("newer vramtrace"));
    CHECK_THAT(patched(offsetof(FormatHeader, byte_order), uint32_t{0x04030201}),
               ContainsSubstring("another kind of machine"));
    CHECK_THAT(patched(offsetof(FormatHeader, word_bytes), uint32_t{4}), ContainsSubstring("another kind of machine"));
    CHECK_THAT(patched(offsetof(FormatHeader, header_bytes), uint32_t{8}), ContainsSubstring("damaged header"));
    CHECK_THAT(patched(offsetof(FormatHeader, header_bytes), ~uint32_t{0}), ContainsSubstring("damaged header"));
}

TEST_CASE("a later minor version is read: longer header, unknown blocks") {
    test::ScratchDirectory scratch;
    const std::string path = scratch.file("a.trace");
    const auto events = write_sample(path, 100, 50);
    const auto old = test::read_file(path);
    std::vector<std::byte> bytes(512);
    ContainerHeader header;
    std::memcpy(static_cast<void*>(&header), old.data(), sizeof(header));
    header.format.minor = 7;
    header.format.header_bytes = 512;
    header.checksum = hash64(std::as_bytes(std::span(&header, 1)).first(offsetof(ContainerHeader, checksum)));
    std::memcpy(bytes.data(), &header, sizeof(header));
    BlockHeader unknown;
    unknown.kind = static_cast<BlockKind>(99);
    BlockSealer().seal(unknown, std::span(old).first(100), bytes);
    bytes.insert(bytes.end(), old.begin() + kContainerHeaderBytes, old.end());
    test::write_file(path, bytes);
    const Read read = read_all(path);
    CHECK(read.events.size() == 100);
    check_part_of(read.events, events);
    CHECK(read.ended);
    REQUIRE(read.status.warnings.size() == 2);
    CHECK_THAT(read.status.warnings[1], ContainsSubstring("does not know"));
}

TEST_CASE("a sound header never makes a reader take more than a block may have") {
    test::ScratchDirectory scratch;
    const std::string path = scratch.file("a.trace");
    write_sample(path, 10, 10);
    auto bytes = test::read_file(path);
    const auto append = [&](BlockHeader header, std::span<const std::byte> payload) {
        header.payload_checksum = hash64(payload);
        header.header_checksum =
            hash64(std::as_bytes(std::span(&header, 1)).first(offsetof(BlockHeader, header_checksum)));
        const auto front = std::as_bytes(std::span(&header, 1));
        bytes.insert(bytes.end(), front.begin(), front.end());
        bytes.insert(bytes.end(), payload.begin(), payload.end());
    };
    const std::vector<std::byte> small(64);
    BlockHeader header;
    header.kind = BlockKind::Definitions;
    header.stored_bytes = 64;
    header.raw_bytes = 64;
    header.position = ~0ULL - 10;  // beyond any image
    append(header, small);
    header.position = 0;
    header.raw_bytes = ~0U;  // no memory for that
    append(header, small);
    header.raw_bytes = kMaxRawBytes;
    header.flags = kBlockZstd;  // not a zstd frame
    append(header, small);
    header.kind = BlockKind::Events;
    header.flags = 0;
    header.raw_bytes = 64;
    header.first_ticket = ~0ULL - 1;
    header.ticket_count = 100;  // past the last number there is
    append(header, small);
    test::write_file(path, bytes);
    const Read read = read_all(path);
    CHECK(read.events.size() == 10);
    CHECK(read.status.warnings.size() >= 3);
}
