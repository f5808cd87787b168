// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <vector>

#include "analyzer/verdict/candidate.h"
#include "analyzer/verdict/finding.h"

// THE RULES, one a file. Each looks at one call site (or one device) and says what it is, with its numbers, or nothing.
// docs/verdicts.md states every threshold.
namespace vramtrace::verdict {

std::optional<Finding> growth(const Candidate& candidate);
std::optional<Finding> ramp(const Candidate& candidate);
std::optional<Finding> library_cache(const Candidate& candidate);
std::optional<Finding> delayed_release(const Candidate& candidate);
std::optional<Finding> workspaces_of_streams(const Candidate& candidate);
std::optional<Finding> handles(const Candidate& candidate);
std::optional<Finding> arena(const Candidate& candidate);
std::optional<Finding> pinned_cache(const Candidate& candidate);
std::optional<Finding> segments(const Candidate& candidate);
std::optional<Finding> left_at_exit(const Candidate& candidate);

// Of each device.
std::vector<Finding> pending(const ProcessAnalysis& process);
std::vector<Finding> unused_reserve(const ProcessAnalysis& process);

// A finding about this call site, its numbers filled in; title, evidence and weight are the rule's.
Finding about(const Candidate& candidate, Class what);
// Host and device bytes, not addresses and handles.
bool is_memory(accounts::Quantity quantity);

}  // namespace vramtrace::verdict
