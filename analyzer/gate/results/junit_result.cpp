// SPDX-License-Identifier: Apache-2.0
#include "analyzer/gate/results/results.h"
#include "analyzer/print/xml_writer.h"

namespace vramtrace::gate {
namespace {

constexpr size_t kMostText = 100'000;  // of one failure: CI servers cut or refuse more

std::string failure_text(const RuleResult& rule) {
    std::string text = rule.measured + "; " + rule.limit + "\n";
    for (const Offender& offender : rule.offenders) {
        std::string more = offender.sentence + "\n";
        if (offender.finding) {
            for (const std::string& evidence : offender.finding->evidence) more += "  " + evidence + "\n";
            for (const uint32_t index : offender.process->stack(offender.finding->stack).frames) {
                const NamedFrame& frame = offender.process->frames[index];
                more += "    " + frame.title() + "  " + frame.place() + "\n";
            }
        }
        if (text.size() + more.size() > kMostText) return text + "…\n";
        text += more;
    }
    return text;
}

}  // namespace

// One test case a rule, so that their number does not change with the leaks; what cannot be judged is an error of a case of
// its own, never a pass.
void write_junit(std::ostream& out, const Decision& decision, const Context&) {
    size_t failures = 0;
    for (const RuleResult& rule : decision.rules) failures += !rule.passed;
    const size_t errors = decision.obstacles.empty() ? 0 : 1;
    print::XmlWriter xml(out);
    xml.element("testsuites").attribute("tests", decision.rules.size() + 1).attribute("failures", failures);
    xml.attribute("errors", errors);
    xml.element("testsuite").attribute("name", "vramtrace").attribute("tests", decision.rules.size() + 1);
    xml.attribute("failures", failures).attribute("errors", errors).attribute("skipped", "0");
    xml.element("testcase").attribute("classname", "vramtrace").attribute("name", "can-judge");
    if (errors != 0) {
        xml.element("error").attribute("message", decision.obstacles.front()).attribute("type", "cannot-judge");
        std::string text;
        for (const std::string& obstacle : decision.obstacles) text += obstacle + "\n";
        xml.text(text).end();
    }
    xml.end();
    for (const RuleResult& rule : decision.rules) {
        xml.element("testcase").attribute("classname", "vramtrace").attribute("name", rule.id);
        if (!rule.passed) {
            xml.element("failure").attribute("message", rule.measured + "; " + rule.limit).attribute("type", rule.id);
            xml.text(failure_text(rule)).end();
        }
        xml.end();
    }
    xml.end().end();
}

}  // namespace vramtrace::gate
