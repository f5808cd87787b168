// SPDX-License-Identifier: Apache-2.0
#include "analyzer/gate/results/results.h"
#include "analyzer/print/printable.h"
#include "analyzer/print/units.h"

namespace vramtrace::gate {
namespace {

constexpr size_t kOffenders = 10;

void write_suppressions(std::ostream& out, const Decision& decision) {
    if (decision.suppressions.empty()) return;
    out << "\nSUPPRESSIONS\n  findings  bytes         leak:pattern\n";
    for (const SuppressionUse& use : decision.suppressions) {
        std::string line = print::grouped(use.findings);
        line = std::string(line.size() < 10 ? 10 - line.size() : 0, ' ') + line + "  " + print::bytes(use.amount.bytes);
        line += std::string(line.size() < 26 ? 26 - line.size() : 1, ' ') + print::printable(use.suppression.pattern);
        if (!use.suppression.reason.empty()) line += " (" + print::printable(use.suppression.reason) + ")";
        if (use.expired) line += "  EXPIRED " + use.suppression.until;
        if (use.exceeded) line += "  EXCEEDED: there was more than it accepts";
        if (use.findings == 0 && !use.expired && !use.exceeded) line += "  unused";
        out << line << "\n";
    }
}

}  // namespace

void write_text(std::ostream& out, const Decision& decision, const Context&) {
    for (const std::string& obstacle : decision.obstacles)
        out << "cannot judge: " << print::printable(obstacle) << "\n";
    for (const RuleResult& rule : decision.rules) {
        out << (rule.passed ? "passed  " : "FAILED  ") << rule.id << ": " << rule.measured << "; " << rule.limit
            << "\n";
        for (size_t i = 0; i < rule.offenders.size() && i < kOffenders; ++i) {
            const Offender& offender = rule.offenders[i];
            out << "    " << print::printable(offender.sentence);
            if (!offender.fingerprint.empty()) out << "  [" << offender.fingerprint << "]";
            out << "\n";
            if (!offender.finding) continue;
            for (const std::string& evidence : offender.finding->evidence)
                out << "      " << print::printable(evidence) << "\n";
        }
        if (rule.offenders.size() > kOffenders) out << "    … and " << rule.offenders.size() - kOffenders << " more\n";
    }
    if (decision.known_in_baseline != 0) {
        out << "known in the baseline and no worse: "
            << print::counted(decision.known_in_baseline, "finding", "findings") << "\n";
    }
    write_suppressions(out, decision);
    out << "GATE: " << print::printable(decision.sentence()) << "\n";
}

}  // namespace vramtrace::gate
