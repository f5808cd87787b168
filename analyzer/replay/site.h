// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "analyzer/replay/quantities.h"
#include "trace/event.h"

// WHERE: a call site as the replay knows it, without names. Grouping by function, file or module happens in the report.
namespace vramtrace::replay {

struct SiteKey {
    uint32_t stack = 0;  // definition id; 0 = the stack is missing
    uint8_t api = trace::kNoName;
    uint8_t label = trace::kNoName;
    Kind kind = Kind::DeviceMemory;
    uint8_t device = trace::kNoDevice;  // kNoDevice for quantities counted per process

    Quantity quantity() const { return quantity_of(kind); }
    friend bool operator==(const SiteKey&, const SiteKey&) = default;
};

using SiteId = uint32_t;  // dense, in order of appearance

class SiteTable {
public:
    SiteId intern(const SiteKey& key);
    const SiteKey& key(SiteId site) const { return keys_[site]; }
    SiteId size() const { return static_cast<SiteId>(keys_.size()); }

private:
    struct Hash {
        size_t operator()(const SiteKey& key) const;
    };
    std::vector<SiteKey> keys_;
    std::unordered_map<SiteKey, SiteId, Hash> ids_;
    SiteId last_ = 0;  // loops allocate at one site: the last answer is often the next
};

}  // namespace vramtrace::replay
