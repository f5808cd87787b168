// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <utility>

#include "analyzer/accounts/accounts.h"
#include "analyzer/replay/live_set.h"
#include "analyzer/replay/observer.h"

namespace vramtrace::accounts {

// WHAT THE PROGRAM LEFT WHEN ITS CONTEXTS ENDED. Whether a context's end is the program's end is known only afterwards: it
// is as long as no memory is made after it. So what ended with a context is kept until then, and the devices are frozen
// just before it.
class AtExit : public replay::Observer {
public:
    // `freeze` is called when a context is about to end and nothing is kept yet.
    AtExit(std::function<void()> freeze, std::function<void()> thaw)
        : freeze_(std::move(freeze)), thaw_(std::move(thaw)) {}

    void on_event(const trace::Event& event) override;
    void on_context_end(const trace::Event& event) override;
    void on_allocate(const Allocation& allocation) override;
    void on_release(const Allocation& allocation, const replay::Release& release) override;
    void on_restore(const Allocation& allocation, const replay::Release& taken_back, Moment now) override;

    std::optional<Moment> moment() const { return moment_; }
    uint64_t late_frees() const { return late_frees_; }
    // In order of birth.
    const std::map<uint64_t, Allocation>& left() const { return left_; }

private:
    using Name = std::pair<replay::Space, uint64_t>;
    void forget(const Name& name);

    std::function<void()> freeze_, thaw_;
    std::optional<Moment> moment_;
    std::map<uint64_t, Allocation> left_;  // by id
    std::map<Name, uint64_t> names_;
    uint64_t late_frees_ = 0;
};

}  // namespace vramtrace::accounts
