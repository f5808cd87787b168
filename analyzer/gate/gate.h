// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "analyzer/analysis.h"
#include "analyzer/gate/baseline.h"
#include "analyzer/gate/limits.h"
#include "analyzer/gate/suppressions.h"
#include "analyzer/verdict/finding.h"

// THE GATE: findings and totals against limits. It decides; gate/results/ says it in each CI's own words.
namespace vramtrace::gate {

struct Offender {
    const ProcessAnalysis* process = nullptr;
    std::optional<verdict::Finding> finding;  // nothing: the rule is about a device or the whole process
    std::string sentence;
    std::string fingerprint;  // of the call site; empty without one
};

struct RuleResult {
    std::string id;        // "leaked-bytes": stable, for suppressing and for test names
    std::string limit;     // "at most 0 B"
    std::string measured;  // "120 MiB (125,829,120 bytes) in 40 allocations"
    bool passed = true;
    std::vector<Offender> offenders;  // worst first
};

enum class Outcome { Passed, Failed, CannotJudge };

struct Decision {
    Outcome outcome = Outcome::Passed;
    std::vector<std::string> obstacles;  // why it cannot be judged
    std::vector<RuleResult> rules;       // in the order of Limits
    std::vector<SuppressionUse> suppressions;
    size_t known_in_baseline = 0;   // findings that are no worse than there
    Baseline baseline_of_this_run;  // what --write-baseline writes: everything, suppressed or not
    std::string sentence() const;   // "gate failed: leaked-bytes, growth"
};

struct Request {
    Limits limits;
    std::optional<std::string> phase;  // that the analysis was cut to
    std::optional<uint32_t> pid;       // the only process that was read
    bool running = false;              // one that still runs may be judged, if the phase has ended
    // Tensors of the phase that are still live are leaked: a test's, not a whole job's, where they are its model.
    bool survivors = false;
    std::vector<Suppression> suppressions;
    std::optional<Baseline> baseline;
    std::string today;  // "2027-01-31"
};

Decision decide(const Analysis& analysis, const Request& request);

}  // namespace vramtrace::gate
