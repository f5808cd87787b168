// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/analysis.h"
#include "analyzer/gate/limits.h"
#include "analyzer/verdict/finding.h"

namespace vramtrace::gate {

// As LeakSanitizer matches: anywhere in `text`; '*' any text, '^' at the beginning and '$' at the end anchor. Case matters.
bool matches(std::string_view pattern, std::string_view text);
bool is_date(std::string_view text);  // "2027-01-31"

// What became of each suppression.
struct SuppressionUse {
    Suppression suppression;
    bool expired = false;
    uint64_t findings = 0;
    accounts::Amount amount;  // that it covered
    bool exceeded = false;    // it fitted, but there was more than it accepts: it covered nothing of that
};

class Suppressions {
public:
    // `today` as "2027-01-31".
    Suppressions(std::vector<Suppression> list, const std::string& today);

    // True if one of them covers the whole finding. What several findings of one suppression come to together must not
    // exceed its limits: ask for the findings in the order in which they are shown.
    bool covers(const ProcessAnalysis& process, const verdict::Finding& finding);
    const std::vector<SuppressionUse>& uses() const { return uses_; }

private:
    std::vector<SuppressionUse> uses_;
};

}  // namespace vramtrace::gate
