// SPDX-License-Identifier: Apache-2.0
#include "analyzer/instant/fragmentation.h"

#include <algorithm>
#include <numeric>

namespace vramtrace::instant {

std::optional<double> largest_hole_ratio(std::span<const uint64_t> holes) {
    const uint64_t total = std::accumulate(holes.begin(), holes.end(), uint64_t{0});
    if (total == 0) return std::nullopt;
    return 1.0 - static_cast<double>(*std::max_element(holes.begin(), holes.end())) / static_cast<double>(total);
}

std::optional<double> hole_dispersion(std::span<const uint64_t> holes) {
    double sum = 0;
    double squares = 0;
    for (const uint64_t hole : holes) {
        sum += static_cast<double>(hole);
        squares += static_cast<double>(hole) * static_cast<double>(hole);
    }
    if (sum == 0) return std::nullopt;
    return 1.0 - squares / (sum * sum);
}

std::optional<double> peak_ratio(uint64_t peak_live, uint64_t peak_reserved) {
    return unused_share(peak_live, peak_reserved);
}

std::optional<double> unused_share(uint64_t live, uint64_t reserved) {
    if (reserved == 0) return std::nullopt;
    return 1.0 - static_cast<double>(live) / static_cast<double>(reserved);
}

std::optional<double> mean_overhead(std::span<const uint64_t> live, std::span<const uint64_t> reserved) {
    double sum = 0;
    size_t counted = 0;
    for (size_t i = 0; i < std::min(live.size(), reserved.size()); ++i) {
        if (live[i] == 0) continue;
        sum += static_cast<double>(reserved[i]) / static_cast<double>(live[i]);
        ++counted;
    }
    if (counted == 0) return std::nullopt;
    return sum / static_cast<double>(counted);
}

std::vector<Run> holes_in(std::vector<Run> areas, std::vector<Run> taken) {
    const auto by_address = [](const Run& a, const Run& b) { return a.address < b.address; };
    std::sort(areas.begin(), areas.end(), by_address);
    std::sort(taken.begin(), taken.end(), by_address);
    std::vector<Run> holes;
    size_t next = 0;
    uint64_t covered = 0;  // everything below is taken, as far as the runs seen so far reach
    for (const Run& area : areas) {
        uint64_t at = std::max(area.address, std::min(covered, area.end()));
        for (; next < taken.size() && taken[next].address < area.end(); ++next) {
            if (taken[next].address > at) holes.push_back({at, taken[next].address - at});
            covered = std::max(covered, taken[next].end());
            at = std::max(at, std::min(covered, area.end()));
        }
        if (at < area.end()) holes.push_back({at, area.end() - at});
    }
    return holes;
}

SegmentSummary summarize_segments(std::span<const std::vector<Block>> segments, uint64_t driver_free) {
    SegmentSummary sum;
    uint64_t released_with_pending = 0;
    for (const std::vector<Block>& blocks : segments) {
        uint64_t bytes = 0;
        bool live = false;
        bool pending = false;
        std::vector<uint64_t> holes;
        bool after_free = false;  // neighbours merge inside a segment
        for (const Block& block : blocks) {
            bytes += block.bytes;
            switch (block.state) {
                case BlockState::Live:
                    live = true;
                    sum.live += block.bytes;
                    sum.requested += block.requested;
                    sum.internal += block.bytes - std::min(block.requested, block.bytes);
                    break;
                case BlockState::Pending:
                    pending = true;
                    sum.pending += block.bytes;
                    break;
                case BlockState::Free:
                    if (after_free) {
                        holes.back() += block.bytes;
                    } else {
                        holes.push_back(block.bytes);
                    }
                    break;
            }
            after_free = block.state == BlockState::Free;
        }
        sum.reserved += bytes;
        for (const uint64_t hole : holes) sum.largest_hole = std::max(sum.largest_hole, hole);
        if (live || pending) {
            sum.holes.insert(sum.holes.end(), holes.begin(), holes.end());
        } else {
            sum.releasable += bytes;
        }
        if (!live) released_with_pending += bytes;
    }
    sum.largest_allocatable = std::max(sum.largest_hole, driver_free);
    sum.largest_after_release = std::max(sum.largest_hole, driver_free + sum.releasable);
    sum.largest_after_pending = std::max(sum.largest_hole, driver_free + released_with_pending);
    return sum;
}

}  // namespace vramtrace::instant
