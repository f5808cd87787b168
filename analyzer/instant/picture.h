// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "analyzer/instant/address_map.h"
#include "analyzer/instant/decomposition.h"
#include "analyzer/instant/segment_map.h"
#include "analyzer/replay/replay.h"

// A DEVICE FROZEN at one moment: where its bytes are, what it could still have given, and who stands in the way. Taken in
// the second pass, at moments that only the first one can name (the peak, refused requests).
namespace vramtrace::instant {

// What was asked for, if something was; then the picture also says what it would have taken to serve it.
struct Request {
    uint64_t bytes = 0;     // as the allocator rounded it
    bool segments = false;  // of a framework's allocator: served from its segments; else by the driver
    bool small = false;     // of its pool for small blocks
};

// The largest request that could have been served, by where it would come from. Bytes; nothing = not known.
struct LargestBlock {
    std::optional<uint64_t> driver;         // free memory as the driver says, in whole pages
    uint64_t cached = 0;                    // the largest hole that may serve the request (of its pool)
    std::optional<uint64_t> now;            // max(cached, driver)
    std::optional<uint64_t> after_release;  // … once every wholly free segment and every unused pool page went back
    std::optional<uint64_t> after_pending;  // … and what waits for streams has completed
};

// A call site that keeps segments from going back to the driver.
struct SegmentPin {
    replay::SiteId site = 0;
    uint64_t live_bytes = 0, blocks = 0;  // its own in those segments
    uint64_t segments = 0;                // in which it has a live block
    uint64_t opens = 0;                   // bytes of segments that would be wholly free without its blocks alone
};

// The cheapest set of live blocks in one segment whose release opens a hole of the request's size.
struct Window {
    uint64_t opens = 0;       // bytes of that hole
    uint64_t live_bytes = 0;  // to be released for it
    struct Share {
        replay::SiteId site = 0;
        uint64_t bytes = 0, blocks = 0;
    };
    std::vector<Share> sites;  // most bytes first
};

struct LiveSite {
    replay::SiteId site = 0;
    uint64_t bytes = 0, count = 0;
};

struct Picture {
    uint8_t device = trace::kNoDevice;
    replay::Moment moment;
    Decomposition parts;  // sums to the device's total, where that is known
    std::optional<SegmentMap> segments;
    AddressMap addresses;
    std::vector<SegmentPin> pins;  // most `opens` first, at most kPins
    std::vector<LiveSite> sites;   // of device memory, blocks in place of the segments they lie in; most bytes first
    std::optional<Request> request;
    LargestBlock largest;
    std::optional<Window> cheapest;  // only with a request of a framework's that no hole serves
};
constexpr size_t kPins = 32;

// `inputs`: the sums of that moment, with the MemoryInfo nearest to it (accounts/ fills them).
Picture take_picture(const replay::Replay& replay, const Inputs& inputs, const std::optional<Request>& request);

}  // namespace vramtrace::instant
