// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "analyzer/accounts/accounts.h"
#include "analyzer/replay/observer.h"

namespace vramtrace::accounts {

// Things without bytes of ours, by kind and device: made, open now, most open at once.
class Handles : public replay::Observer {
public:
    void on_allocate(const Allocation& allocation) override;
    void on_release(const Allocation& allocation, const replay::Release& release) override;
    void on_restore(const Allocation& allocation, const replay::Release& taken_back, Moment now) override;

    std::vector<HandleCount> handles() const;  // by kind, then device

private:
    HandleCount* of(const Allocation& allocation);

    std::map<std::pair<Kind, uint8_t>, HandleCount> counts_;
};

}  // namespace vramtrace::accounts
