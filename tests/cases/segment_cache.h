// SPDX-License-Identifier: Apache-2.0
// A first-fit cache over big device allocations, as frameworks have one: what is freed stays in its segment, and only
// a segment that is free as a whole can be given back. With a limit it gives up before it asks the driver.
#pragma once

#include "tests/cases/case.h"

#include <iterator>
#include <map>
#include <new>
#include <vector>

class SegmentCache {
public:
    explicit SegmentCache(size_t limit) : limit_(limit) {}

    void* allocate(size_t bytes) {
        for (Segment& segment : segments_) {
            if (void* const found = first_fit(segment, bytes)) return found;
        }
        if (reserved() + bytes > limit_) throw std::bad_alloc();
        segments_.push_back({new_segment(bytes), bytes, {{0, bytes}}});
        return first_fit(segments_.back(), bytes);
    }

    void free(void* memory) {
        for (Segment& segment : segments_) {
            const auto offset = static_cast<size_t>(static_cast<char*>(memory) - segment.base);
            const auto taken = segment.taken.find(offset);
            if (memory < segment.base || taken == segment.taken.end()) continue;
            segment.holes[offset] = taken->second;
            segment.taken.erase(taken);
            for (auto hole = segment.holes.begin(); hole != segment.holes.end();) {
                const auto next = std::next(hole);
                if (next == segment.holes.end() || hole->first + hole->second != next->first) {
                    hole = next;
                    continue;
                }
                hole->second += next->second;
                segment.holes.erase(next);
            }
            return;
        }
        fail("free of an unknown block", 0);
    }

    size_t release_free_segments() {
        size_t released = 0;
        std::vector<Segment> kept;
        for (Segment& segment : segments_) {
            if (segment.taken.empty()) {
                released += segment.bytes;
                MUST(cudaFree(segment.base));
            } else {
                kept.push_back(segment);
            }
        }
        segments_ = kept;
        return released;
    }

    size_t reserved() const {
        size_t sum = 0;
        for (const Segment& segment : segments_) sum += segment.bytes;
        return sum;
    }

private:
    struct Segment {
        char* base;
        size_t bytes;
        std::map<size_t, size_t> holes;
        std::map<size_t, size_t> taken = {};
    };

    __attribute__((noinline)) static char* new_segment(size_t bytes) {
        return static_cast<char*>(device_memory(bytes));
    }

    static void* first_fit(Segment& segment, size_t bytes) {
        for (const auto& [offset, size] : segment.holes) {
            if (size < bytes) continue;
            const size_t at = offset;
            const size_t rest = size - bytes;
            segment.holes.erase(at);
            if (rest > 0) segment.holes[at + bytes] = rest;
            segment.taken[at] = bytes;
            return segment.base + at;
        }
        return nullptr;
    }

    size_t limit_;
    std::vector<Segment> segments_;
};
