// SPDX-License-Identifier: Apache-2.0
#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstring>
#include <random>
#include <vector>

#include "tests/support/random_events.h"
#include "trace/container/block.h"
#include "trace/container/event_columns.h"
#include "trace/definition.h"
#include "trace/ring/definition_image.h"

// Bytes and time per event of the container. Everything is counted: block headers, and for the runs "with stacks" a
// definition image with a stack of 30 frames for each call site of allocations and of frees.
//   container_bench --benchmark_counters_tabular=true
namespace {

using namespace vramtrace;
using namespace vramtrace::trace;

constexpr size_t kEvents = 1'000'000;

// Programs share most of their stacks with their neighbours: the outer 20 frames are one of 40 paths, the inner 10 of
// 300 places.
std::vector<std::byte> stacks_of(uint32_t sites) {
    std::mt19937_64 random(9);
    std::vector<std::byte> image(kFirstRecord);
    for (uint32_t site = 0; site < 2 * sites; ++site) {
        struct {
            StackBody body;
            Frame frames[30];
        } stack = {};
        stack.body.frame_count = 30;
        const uint64_t path = random() % 40;
        for (uint64_t i = 0; i < 30; ++i) {
            const uint64_t place = i < 10 ? random() % 300 : 1000 + path * 20 + i;
            stack.frames[i] = make_frame(1 + place % 7, place * 0x9E3779B97F4A7C15ULL >> 44);
        }
        DefinitionHeader header;
        header.body_bytes = sizeof(stack);
        header.kind = DefinitionKind::Stack;
        header.commit = kDefinitionCommitted;
        header.hash = definition_hash(&stack, sizeof(stack));
        const size_t at = image.size();
        image.resize(at + record_bytes(header.body_bytes));
        std::memcpy(&image[at], &header, sizeof(header));
        std::memcpy(&image[at + sizeof(header)], &stack, sizeof(stack));
    }
    return image;
}

std::vector<std::byte> sealed(const std::vector<Event>& events, size_t block) {
    EventEncoder encoder;
    BlockSealer sealer;
    std::vector<std::byte> out;
    for (size_t at = 0; at < events.size(); at += block) {
        const size_t count = std::min(block, events.size() - at);
        BlockHeader header;
        header.kind = BlockKind::Events;
        header.first_ticket = at;
        header.ticket_count = static_cast<uint32_t>(count);
        sealer.seal(header, encoder.encode(std::span(events).subspan(at, count), at), out);
    }
    return out;
}

void report(benchmark::State& state, size_t stored) {
    state.counters["bytes/event"] = static_cast<double>(stored) / kEvents;
    state.SetItemsProcessed(state.iterations() * static_cast<int64_t>(kEvents));
}

// Arguments: events in a block (two seconds of them, at most 16,384), call sites.
void write_churn(benchmark::State& state) {
    const auto sites = static_cast<uint32_t>(state.range(1));
    const auto events = test::churn(kEvents, 0, 1, sites);
    size_t stored = 0;
    for (auto _ : state) stored = sealed(events, static_cast<size_t>(state.range(0))).size();
    BlockHeader header;
    header.kind = BlockKind::Definitions;
    std::vector<std::byte> definitions;
    BlockSealer().seal(header, stacks_of(sites), definitions);
    report(state, stored + definitions.size());
}

void read_churn(benchmark::State& state) {
    const auto events = test::churn(kEvents, 0, 1, static_cast<uint32_t>(state.range(1)));
    const auto file = sealed(events, static_cast<size_t>(state.range(0)));
    BlockOpener opener;
    EventDecoder decoder;
    std::vector<std::byte> raw;
    std::vector<Event> read;
    for (auto _ : state) {
        for (size_t at = 0; at < file.size();) {
            BlockHeader header;
            std::memcpy(static_cast<void*>(&header), &file[at], sizeof(header));
            read.clear();
            const auto payload = std::span(file).subspan(at + sizeof(header), header.stored_bytes);
            if (!sound(header) || !opener.open(header, payload, raw) ||
                !decoder.decode(raw, header.first_ticket, header.ticket_count, read)) {
                state.SkipWithError("a block that we wrote cannot be read");
                return;
            }
            at += sizeof(header) + header.stored_bytes;
        }
    }
    report(state, file.size());
}

}  // namespace

BENCHMARK(write_churn)->Args({200, 500})->Args({2000, 500})->Args({10000, 500})->Args({16384, 50})->Args({16384, 2000});
BENCHMARK(read_churn)->Args({2000, 500})->Args({10000, 500});
BENCHMARK_MAIN();
