// SPDX-License-Identifier: Apache-2.0
#include "analyzer/accounts/refused_releases.h"

#include <algorithm>

namespace vramtrace::accounts {

void RefusedReleases::on_refused(const trace::Event& refusal, const replay::Release& refused) {
    ++total_;
    const std::tuple key{refused.stack, refused.api, refused.label, refusal.result};
    auto place = rows_.find(key);
    if (place == rows_.end()) {
        if (rows_.size() == kRows) return;
        RefusedRelease row;
        row.key.stack = refused.stack;
        row.key.api = refused.api;
        row.key.label = refused.label;
        row.result = refusal.result;
        row.first = refused.moment;
        place = rows_.emplace(key, row).first;
    }
    RefusedRelease& row = place->second;
    ++row.count;
    row.last = refused.moment;
    row.thread = refused.thread;
    row.example_address = refusal.address != 0 ? refusal.address : refusal.object;
}

std::vector<RefusedRelease> RefusedReleases::rows() const {
    std::vector<RefusedRelease> out;
    for (const auto& [key, row] : rows_) out.push_back(row);
    std::stable_sort(out.begin(), out.end(),
                     [](const RefusedRelease& a, const RefusedRelease& b) { return a.count > b.count; });
    return out;
}

}  // namespace vramtrace::accounts
