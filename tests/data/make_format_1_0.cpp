// SPDX-License-Identifier: Apache-2.0
// Wrote tests/data/format-1.0.trace. Kept for the next format, whose own file is to be made the same way:
//   make_format_1_0 OUTPUT
#include <cstdio>

#include "tests/data/format_1_0.h"
#include "trace/container/container_writer.h"

int main(int argc, char** argv) {
    using namespace vramtrace;
    namespace content = test::format_1_0;
    if (argc != 2) return 2;
    trace::ContainerWriter writer(argv[1], content::identity());
    const auto image = content::image();
    const size_t half = trace::kFirstRecord + 25 * trace::record_bytes(16);
    bool good = writer.append_clocks({5'000'000'000, 1'700'000'000'000'000'000});
    for (uint64_t first = 0; first < content::kTickets; first += 1000) {
        std::vector<trace::Event> events;
        for (uint64_t ticket = first; ticket < first + 1000; ++ticket) {
            if (!content::abandoned(ticket)) events.push_back(content::event(ticket));
        }
        const std::span<const std::byte> bytes(image);
        if (first == 0)
            good = good && writer.append_definitions(trace::kFirstRecord, bytes.subspan(trace::kFirstRecord, half));
        if (first == 1000) good = good && writer.append_definitions(half, bytes.subspan(half));
        good = good && writer.append_events(events, first, 1000);
        good = good && writer.append_status({});
    }
    good = good && writer.append_clocks({6'000'000'000, 1'700'000'001'000'000'500});
    good = good && writer.append_end(content::end(), content::kTickets);
    if (!good) std::perror(argv[1]);
    return good ? 0 : 1;
}
