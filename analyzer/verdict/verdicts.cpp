// SPDX-License-Identifier: Apache-2.0
#include "analyzer/verdict/verdicts.h"

#include <algorithm>
#include <array>
#include <tuple>

#include "analyzer/verdict/rules.h"

namespace vramtrace::verdict {
namespace {

// In this order: the first that fits says what a call site is.
constexpr std::array kRules = {handles, segments,      arena,        workspaces_of_streams, growth,
                               ramp,    library_cache, pinned_cache, delayed_release,       left_at_exit};

}  // namespace

std::string_view class_name(Class which) {
    switch (which) {
        case Class::Growth:
            return "growth";
        case Class::LeftAtExit:
            return "left-at-exit";
        case Class::DelayedRelease:
            return "delayed-release";
        case Class::LibraryCache:
            return "library-cache";
        case Class::Pending:
            return "pending";
        case Class::UnusedReserve:
            return "unused-reserve";
        case Class::Ramp:
            return "ramp";
        case Class::Handles:
            return "handles";
    }
    return "?";
}

std::string_view weight_name(Weight weight) {
    switch (weight) {
        case Weight::Leak:
            return "leak";
        case Weight::Suspicion:
            return "suspicion";
        case Weight::Note:
            return "note";
    }
    return "?";
}

bool is_memory(accounts::Quantity quantity) {
    return quantity != accounts::Quantity::Handle && quantity != accounts::Quantity::AddressSpace;
}

Finding about(const Candidate& candidate, Class what) {
    Finding finding;
    finding.what = what;
    finding.sites = candidate.sites;
    finding.stack = candidate.stack_id;
    finding.key = candidate.key;
    finding.device = candidate.device;
    finding.quantity = candidate.quantity();
    finding.amount = candidate.left;
    return finding;
}

std::vector<Finding> judge(const ProcessAnalysis& process) {
    std::vector<Finding> findings;
    for (const Candidate& candidate : candidates_of(process)) {
        const auto& sites = process.accounts.sites;
        const bool kept = std::all_of(candidate.sites.begin(), candidate.sites.end(),
                                      [&](accounts::SiteId site) { return process.kept_by_runtime(sites[site].key); });
        if (kept) continue;
        for (const auto rule : kRules) {
            if (auto finding = rule(candidate)) {
                findings.push_back(std::move(*finding));
                break;
            }
        }
    }
    for (const auto of_device : {pending, unused_reserve}) {
        for (Finding& finding : of_device(process)) findings.push_back(std::move(finding));
    }
    std::stable_sort(findings.begin(), findings.end(), [](const Finding& a, const Finding& b) {
        // Growth before what is merely left: it gets worse.
        return std::tuple(a.weight, a.what != Class::Growth, b.amount.bytes, b.amount.count) <
               std::tuple(b.weight, b.what != Class::Growth, a.amount.bytes, a.amount.count);
    });
    return findings;
}

}  // namespace vramtrace::verdict
