// SPDX-License-Identifier: Apache-2.0
#include "analyzer/gate/suppressions.h"

namespace vramtrace::gate {
namespace {

// Whether `text` from its front on is what `pattern` says; '*' in it is any text. Greedy with one point to come back to, so
// that no pattern takes more than |pattern| · |text| steps.
bool matches_here(std::string_view pattern, std::string_view text, bool to_the_end) {
    size_t at = 0, read = 0, star = std::string_view::npos, resume = 0;
    while (true) {
        if (at == pattern.size() && (!to_the_end || read == text.size())) return true;
        if (at < pattern.size() && pattern[at] == '*') {
            star = at++;
            resume = read;
        } else if (at < pattern.size() && read < text.size() && pattern[at] == text[read]) {
            ++at;
            ++read;
        } else if (star != std::string_view::npos && resume < text.size()) {
            at = star + 1;
            read = ++resume;
        } else {
            return false;
        }
    }
}

bool fits(const Suppression& suppression, const ProcessAnalysis& process, const verdict::Finding& finding) {
    if (!suppression.kind.empty()) {
        if (finding.sites.empty()) return false;
        const accounts::Kind kind = process.accounts.sites[finding.sites.front()].key.kind;
        if (suppression.kind != replay::kind_name(kind)) return false;
    }
    for (const uint32_t index : process.stack(finding.stack).frames) {
        const NamedFrame& frame = process.frames[index];
        for (const std::string_view text :
             {std::string_view(frame.function), std::string_view(frame.file), std::string_view(frame.module)}) {
            if (!text.empty() && matches(suppression.pattern, text)) return true;
        }
    }
    return false;
}

}  // namespace

bool matches(std::string_view pattern, std::string_view text) {
    const bool from_front = !pattern.empty() && pattern.front() == '^';
    if (from_front) pattern.remove_prefix(1);
    const bool to_the_end = !pattern.empty() && pattern.back() == '$';
    if (to_the_end) pattern.remove_suffix(1);
    if (from_front) return matches_here(pattern, text, to_the_end);
    const std::string anywhere = "*" + std::string(pattern);
    return matches_here(anywhere, text, to_the_end);
}

bool is_date(std::string_view text) {
    if (text.size() != 10 || text[4] != '-' || text[7] != '-') return false;
    for (const size_t digit : {0, 1, 2, 3, 5, 6, 8, 9}) {
        if (text[digit] < '0' || text[digit] > '9') return false;
    }
    const int month = (text[5] - '0') * 10 + text[6] - '0', day = (text[8] - '0') * 10 + text[9] - '0';
    return month >= 1 && month <= 12 && day >= 1 && day <= 31;
}

Suppressions::Suppressions(std::vector<Suppression> list, const std::string& today) {
    for (Suppression& suppression : list) {
        SuppressionUse use;
        use.expired = !suppression.until.empty() && suppression.until < today;  // ISO dates compare as text
        use.suppression = std::move(suppression);
        uses_.push_back(std::move(use));
    }
}

bool Suppressions::covers(const ProcessAnalysis& process, const verdict::Finding& finding) {
    for (SuppressionUse& use : uses_) {
        if (use.expired || !fits(use.suppression, process, finding)) continue;
        const uint64_t bytes = use.amount.bytes + finding.amount.bytes;
        const uint64_t count = use.amount.count + finding.amount.count;
        if (bytes > use.suppression.most_bytes.value_or(UINT64_MAX) ||
            count > use.suppression.most_allocations.value_or(UINT64_MAX)) {
            use.exceeded = true;
            continue;
        }
        use.amount = {count, bytes};
        ++use.findings;
        return true;
    }
    return false;
}

}  // namespace vramtrace::gate
