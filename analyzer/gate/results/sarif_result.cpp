// SPDX-License-Identifier: Apache-2.0
#include "analyzer/gate/results/location.h"
#include "analyzer/gate/results/results.h"
#include "analyzer/print/json_writer.h"

// SARIF 2.1.0 (OASIS): one rule a gate rule, one result an offender. GitHub refuses results without a location in the
// repository, so what has none is said at the gate file.
namespace vramtrace::gate {
namespace {

using print::JsonWriter;

constexpr size_t kMostResults = 5000;  // that GitHub shows of a run
constexpr size_t kMostSteps = 100;

void write_location(JsonWriter& json, const Location& place, const std::string& message) {
    json.object().key("physicalLocation").object();
    json.key("artifactLocation").object().member("uri", place.file).member("uriBaseId", "%SRCROOT%").end();
    json.key("region").object().member("startLine", place.line).end();
    json.end();
    if (!message.empty()) json.key("message").object().member("text", message).end();
    json.end();
}

void write_code_flow(JsonWriter& json, const Offender& offender, const Context& context) {
    const NamedStack& stack = offender.process->stack(offender.finding->stack);
    json.key("codeFlows").array().object().key("threadFlows").array().object().key("locations").array();
    size_t steps = 0;
    // From the outside in, as one reads a flow.
    for (size_t i = stack.frames.size(); i-- > 0 && steps < kMostSteps;) {
        const NamedFrame& frame = offender.process->frames[stack.frames[i]];
        const auto file = frame.vendor ? std::nullopt : path_in_repository(frame.file, context);
        if (!file || frame.line == 0) continue;
        json.object().key("location");
        write_location(json, {*file, frame.line}, frame.title());
        json.end();
        ++steps;
    }
    json.end().end().end().end().end();
}

void write_result(JsonWriter& json, const RuleResult& rule, const Offender& offender, const Context& context) {
    const auto place = location_of(offender, context);
    std::string text = offender.sentence + ". " + rule.limit + ".";
    if (offender.finding) {
        for (const std::string& evidence : offender.finding->evidence) text += "\n" + evidence;
        if (!offender.finding->remedy.empty()) text += "\n" + offender.finding->remedy;
    }
    json.object().member("ruleId", rule.id).member("level", "error").member("kind", "fail");
    json.key("message").object().member("text", text).end();
    json.key("locations").array();
    write_location(json, place.value_or(Location{context.gate_file, 1}), "");
    json.end();
    if (place) write_code_flow(json, offender, context);
    if (!offender.fingerprint.empty()) {
        json.key("partialFingerprints")
            .object()
            .member("vramtraceCallSite/v1", offender.fingerprint + ":" + rule.id)
            .end();
    }
    json.end();
}

}  // namespace

void write_sarif(std::ostream& out, const Decision& decision, const Context& context) {
    JsonWriter json(out);
    json.object().member("$schema", "https://json.schemastore.org/sarif-2.1.0.json").member("version", "2.1.0");
    json.key("runs").array().object();
    json.key("tool").object().key("driver").object();
    json.member("name", "vramtrace").member("version", context.version).member("semanticVersion", context.version);
    json.key("rules").array();
    for (const RuleResult& rule : decision.rules) {
        json.object().member("id", rule.id);
        json.key("shortDescription").object().member("text", rule.id + ": " + rule.limit).end();
        json.key("defaultConfiguration").object().member("level", "error").end();
        json.end();
    }
    json.end().end().end();
    // What could not be judged is no result: the run as a whole was not successful.
    json.key("invocations").array().object();
    json.member("executionSuccessful", decision.obstacles.empty());
    json.key("toolExecutionNotifications").array();
    for (const std::string& obstacle : decision.obstacles) {
        json.object().member("level", "error").key("message").object().member("text", obstacle).end().end();
    }
    json.end().end().end();
    json.key("results").array();
    size_t results = 0;
    for (const RuleResult& rule : decision.rules) {
        if (rule.passed) continue;
        for (const Offender& offender : rule.offenders) {
            if (results++ < kMostResults) write_result(json, rule, offender, context);
        }
    }
    json.end();
    json.end().end().end();
    out << '\n';
}

}  // namespace vramtrace::gate
