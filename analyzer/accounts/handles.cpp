// SPDX-License-Identifier: Apache-2.0
#include "analyzer/accounts/handles.h"

#include <algorithm>

namespace vramtrace::accounts {

HandleCount* Handles::of(const Allocation& allocation) {
    if (allocation.quantity() != Quantity::Handle) return nullptr;
    HandleCount& count = counts_[{allocation.kind, allocation.device}];
    count.kind = allocation.kind;
    count.device = allocation.device;
    return &count;
}

void Handles::on_allocate(const Allocation& allocation) {
    HandleCount* count = of(allocation);
    if (count == nullptr) return;
    ++count->made;
    ++count->live;
    count->most = std::max(count->most, count->live);
    count->borrowed_bytes += allocation.bytes;
}

void Handles::on_release(const Allocation& allocation, const replay::Release&) {
    HandleCount* count = of(allocation);
    if (count == nullptr) return;
    --count->live;
    count->borrowed_bytes -= allocation.bytes;
}

void Handles::on_restore(const Allocation& allocation, const replay::Release&, Moment) {
    HandleCount* count = of(allocation);
    if (count == nullptr) return;
    ++count->live;
    count->most = std::max(count->most, count->live);
    count->borrowed_bytes += allocation.bytes;
}

std::vector<HandleCount> Handles::handles() const {
    std::vector<HandleCount> out;
    for (const auto& [key, count] : counts_) out.push_back(count);
    return out;
}

}  // namespace vramtrace::accounts
