// SPDX-License-Identifier: Apache-2.0
#include "analyzer/replay/site.h"

namespace vramtrace::replay {

size_t SiteTable::Hash::operator()(const SiteKey& key) const {
    const uint64_t rest = static_cast<uint64_t>(key.api) << 24 | static_cast<uint64_t>(key.label) << 16 |
                          static_cast<uint64_t>(key.kind) << 8 | key.device;
    return static_cast<size_t>((static_cast<uint64_t>(key.stack) << 32 | rest) * 0x9E3779B97F4A7C15ULL >> 16);
}

SiteId SiteTable::intern(const SiteKey& key) {
    if (last_ < keys_.size() && keys_[last_] == key) return last_;
    const auto [place, is_new] = ids_.try_emplace(key, static_cast<SiteId>(keys_.size()));
    if (is_new) keys_.push_back(key);
    last_ = place->second;
    return last_;
}

}  // namespace vramtrace::replay
