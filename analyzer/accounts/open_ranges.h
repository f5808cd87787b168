// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "analyzer/accounts/accounts.h"
#include "trace/event.h"

namespace vramtrace::accounts {

// WHICH RANGES ARE OPEN. Pushed ranges nest in their thread; a pop ends the innermost one of its thread, origin and NVTX
// domain, wherever others that are still open lie. Ranges with an id belong to no thread and nest in nothing.
//
// Bounded whatever the events say: beyond its limits a range is matched with its end by counting only.
class OpenRanges {
public:
    using TextOf = std::function<std::string_view(uint32_t)>;
    using Wanted = std::function<bool(std::string_view)>;

    struct Range {
        uint32_t path = 0;
        uint32_t thread = 0;
        uint64_t id = 0;
        uint64_t domain = 0;
        bool nvtx = false;
        bool wanted = false;
        uint32_t depth = 0;
        Moment begin;
        std::string text;  // the whole path
    };

    // `text` gives a String definition's text; without it names are "#id". `wanted` marks ranges by their path.
    explicit OpenRanges(TextOf text = {}, Wanted wanted = {}) : text_(std::move(text)), wanted_(std::move(wanted)) {}

    // The range is the last of open() then; false: it is not kept.
    bool begin(const trace::Event& event);
    // Takes it out; `place` is where in open() it was. Nothing: no such range is kept.
    struct Ended {
        size_t place = 0;
        Range range;
    };
    std::optional<Ended> end(const trace::Event& event);

    const std::vector<Range>& open() const { return open_; }
    bool any_wanted() const { return wanted_open_ != 0; }
    // Paths in order of their first range; number 0 is kOtherPhases.
    const std::vector<std::string>& paths() const { return paths_; }
    // What is open now, as a number: set_paths() tells it apart again. 0 = nothing.
    uint32_t set();
    const std::vector<uint32_t>& set_paths(uint32_t set) const { return sets_[set]; }

    uint64_t unmatched_ends() const { return unmatched_ends_; }
    uint64_t not_measured() const { return not_measured_; }
    uint64_t nameless() const { return nameless_; }
    bool sets_incomplete() const { return sets_incomplete_; }

private:
    static constexpr size_t kPathBytes = 2048;
    static constexpr size_t kSets = 65536;
    static constexpr size_t kNestsBeyond = 65536;
    using Nest = std::tuple<uint32_t, uint64_t, bool>;  // thread, domain, NVTX

    uint32_t path_of(const std::string& text);
    static Nest nest_of(const trace::Event& event) { return {event.thread, event.address, event.size == 1}; }

    TextOf text_;
    Wanted wanted_;
    std::vector<Range> open_;  // in order of opening
    std::vector<std::string> paths_{kOtherPhases};
    std::unordered_map<std::string, uint32_t> path_numbers_;
    std::vector<std::vector<uint32_t>> sets_{{}};
    std::map<std::vector<uint32_t>, uint32_t> set_numbers_{{{}, 0}};
    uint32_t set_ = 0;
    bool set_known_ = true;
    std::map<Nest, uint64_t> beyond_;  // pushes that are not kept: their pops come first
    uint64_t ids_beyond_ = 0;
    size_t wanted_open_ = 0;
    uint64_t unmatched_ends_ = 0, not_measured_ = 0, nameless_ = 0;
    bool sets_incomplete_ = false;
};

}  // namespace vramtrace::accounts
