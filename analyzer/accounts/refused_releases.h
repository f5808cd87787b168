// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <tuple>
#include <vector>

#include "analyzer/accounts/accounts.h"
#include "analyzer/replay/observer.h"

namespace vramtrace::accounts {

// Releases that the driver refused: a wrong pointer, a second free, a range that is still mapped. Nothing was released,
// and programs that ignore the answer believe that it was. By call site and answer; refusals because the context was gone
// are not among them: those are usual at exit.
class RefusedReleases : public replay::Observer {
public:
    void on_refused(const trace::Event& refusal, const replay::Release& refused) override;

    std::vector<RefusedRelease> rows() const;  // most often first
    uint64_t total() const { return total_; }

private:
    static constexpr size_t kRows = 4096;  // further call sites are only in the total

    std::map<std::tuple<uint32_t, uint8_t, uint8_t, uint16_t>, RefusedRelease> rows_;
    uint64_t total_ = 0;
};

}  // namespace vramtrace::accounts
