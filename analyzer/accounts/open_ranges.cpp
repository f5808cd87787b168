// SPDX-License-Identifier: Apache-2.0
#include "analyzer/accounts/open_ranges.h"

#include <algorithm>

namespace vramtrace::accounts {

bool OpenRanges::begin(const trace::Event& event) {
    const Nest nest = nest_of(event);
    const Range* parent = nullptr;
    size_t depth = 0;
    if (event.object == 0) {
        for (const Range& range : open_) {
            if (range.id != 0 || range.thread != event.thread) continue;
            parent = &range;
            ++depth;
        }
    }
    const bool nests_beyond = event.object == 0 && beyond_.count(nest) != 0;
    if (open_.size() >= kOpenRanges || depth >= kRangeDepth || nests_beyond) {
        ++not_measured_;
        if (event.object != 0) {
            ++ids_beyond_;
        } else if (nests_beyond || beyond_.size() < kNestsBeyond) {
            ++beyond_[nest];
        }
        return false;
    }
    Range range;
    if (parent != nullptr) range.text = parent->text + "/";
    range.depth = parent != nullptr ? parent->depth + 1 : 0;
    const auto name = static_cast<uint32_t>(event.aux);
    std::string text = text_ ? std::string(text_(name)) : "#" + std::to_string(name);
    range.text += text.empty() ? "(name lost)" : text;
    if (range.text.size() > kPathBytes) range.text.resize(kPathBytes);
    range.path = path_of(range.text);
    range.thread = event.thread;
    range.id = event.object;
    range.domain = event.address;
    range.nvtx = event.size == 1;
    range.begin = {event.sequence, event.time};
    range.wanted = wanted_ && wanted_(range.text);
    if (range.wanted) ++wanted_open_;
    open_.push_back(std::move(range));
    set_known_ = false;
    return true;
}

std::optional<OpenRanges::Ended> OpenRanges::end(const trace::Event& event) {
    const bool nvtx = event.size == 1;
    if (event.object == 0) {
        if (const auto beyond = beyond_.find(nest_of(event)); beyond != beyond_.end()) {
            if (--beyond->second == 0) beyond_.erase(beyond);
            return std::nullopt;
        }
    }
    const auto found = std::find_if(open_.rbegin(), open_.rend(), [&](const Range& range) {
        if (range.nvtx != nvtx || range.id != event.object) return false;
        return event.object != 0 || (range.thread == event.thread && range.domain == event.address);
    });
    if (found == open_.rend()) {
        if (event.object != 0 && ids_beyond_ != 0) {
            --ids_beyond_;
        } else {
            ++unmatched_ends_;
        }
        return std::nullopt;
    }
    Ended ended{static_cast<size_t>(open_.rend() - found) - 1, std::move(*found)};
    if (ended.range.wanted) --wanted_open_;
    open_.erase(open_.begin() + static_cast<std::ptrdiff_t>(ended.place));
    set_known_ = false;
    return ended;
}

uint32_t OpenRanges::path_of(const std::string& text) {
    const auto known = path_numbers_.find(text);
    if (known != path_numbers_.end()) return known->second;
    if (paths_.size() > kPhasePaths) {
        ++nameless_;
        return 0;
    }
    const auto number = static_cast<uint32_t>(paths_.size());
    paths_.push_back(text);
    path_numbers_.emplace(text, number);
    return number;
}

uint32_t OpenRanges::set() {
    if (set_known_) return set_;
    set_known_ = true;
    std::vector<uint32_t> paths;
    for (const Range& range : open_) paths.push_back(range.path);
    std::sort(paths.begin(), paths.end());
    paths.erase(std::unique(paths.begin(), paths.end()), paths.end());
    const auto known = set_numbers_.find(paths);
    if (known != set_numbers_.end()) return set_ = known->second;
    if (sets_.size() >= kSets) {
        sets_incomplete_ = true;
        return set_ = 0;
    }
    set_ = static_cast<uint32_t>(sets_.size());
    sets_.push_back(paths);
    set_numbers_.emplace(std::move(paths), set_);
    return set_;
}

}  // namespace vramtrace::accounts
