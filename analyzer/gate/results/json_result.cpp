// SPDX-License-Identifier: Apache-2.0
#include "analyzer/gate/results/results.h"
#include "analyzer/print/json_writer.h"

namespace vramtrace::gate {
namespace {

const char* outcome_name(Outcome outcome) {
    switch (outcome) {
        case Outcome::Passed:
            return "passed";
        case Outcome::Failed:
            return "failed";
        case Outcome::CannotJudge:
            break;
    }
    return "cannot-judge";
}

void write_offender(print::JsonWriter& json, const Offender& offender) {
    json.object().member("sentence", offender.sentence).member("fingerprint", offender.fingerprint);
    json.member("pid", offender.process->status.identity.pid);
    if (offender.finding) {
        const verdict::Finding& finding = *offender.finding;
        json.member("class", verdict::class_name(finding.what)).member("bytes", finding.amount.bytes);
        json.member("count", finding.amount.count).member("bytes_per_iteration", finding.bytes_per_iteration);
        json.key("evidence").array();
        for (const std::string& sentence : finding.evidence) json.value(sentence);
        json.end();
        json.key("stack").array();
        for (const uint32_t index : offender.process->stack(finding.stack).frames) {
            const NamedFrame& frame = offender.process->frames[index];
            json.object().member("function", frame.title()).member("file", frame.file).member("line", frame.line);
            json.member("module", frame.module).end();
        }
        json.end();
    }
    json.end();
}

}  // namespace

void write_json(std::ostream& out, const Decision& decision, const Context&) {
    print::JsonWriter json(out);
    json.object().member("tool", "vramtrace gate").member("schema_version", kGateSchema);
    json.member("outcome", outcome_name(decision.outcome)).member("sentence", decision.sentence());
    json.key("obstacles").array();
    for (const std::string& obstacle : decision.obstacles) json.value(obstacle);
    json.end();
    json.key("rules").array();
    for (const RuleResult& rule : decision.rules) {
        json.object().member("id", rule.id).member("passed", rule.passed).member("limit", rule.limit);
        json.member("measured", rule.measured);
        json.key("offenders").array();
        for (const Offender& offender : rule.offenders) write_offender(json, offender);
        json.end().end();
    }
    json.end();
    json.member("known_in_baseline", decision.known_in_baseline);
    json.key("suppressions").array();
    for (const SuppressionUse& use : decision.suppressions) {
        json.object().member("pattern", use.suppression.pattern).member("origin", use.suppression.origin);
        json.member("reason", use.suppression.reason).member("expired", use.expired).member("exceeded", use.exceeded);
        json.member("findings", use.findings).member("bytes", use.amount.bytes).member("count", use.amount.count).end();
    }
    json.end().end();
    out << '\n';
}

}  // namespace vramtrace::gate
