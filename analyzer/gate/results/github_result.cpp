// SPDX-License-Identifier: Apache-2.0
#include <cstdlib>
#include <fstream>

#include "analyzer/gate/results/location.h"
#include "analyzer/gate/results/results.h"
#include "analyzer/print/printable.h"

// GitHub Actions: annotations as workflow commands in the log (10 errors a step are shown), and a summary in Markdown in the
// file that GITHUB_STEP_SUMMARY names (1 MiB a step, else it is refused whole).
namespace vramtrace::gate {
namespace {

constexpr size_t kAnnotations = 10;
constexpr size_t kMostSummary = 900'000;
constexpr size_t kRows = 10;
constexpr size_t kMostText = 4'000;  // of one sentence: names of templates can be longer than all the rest

// The command's own escapes: '%', line breaks; in properties ':' and ',' too.
std::string escaped(const std::string& text, bool property) {
    std::string out;
    for (const char byte : print::printable(text)) {
        if (byte == '%') {
            out += "%25";
        } else if (property && byte == ':') {
            out += "%3A";
        } else if (property && byte == ',') {
            out += "%2C";
        } else {
            out += byte;
        }
    }
    return out;
}

// Text in a cell or line of Markdown.
std::string cell(const std::string& text) {
    std::string out;
    for (const char byte : print::printable(text)) {
        // Not within a character.
        if (out.size() >= kMostText && (static_cast<unsigned char>(byte) & 0xc0) != 0x80) return out + " …";
        if (byte == '|' || byte == '`' || byte == '\\' || byte == '*' || byte == '_') out += '\\';
        if (byte == '<') {
            out += "&lt;";
        } else {
            out += byte;
        }
    }
    return out;
}

}  // namespace

std::string github_summary(const Decision& decision) {
    std::string text = "### vramtrace: " + cell(decision.sentence()) + "\n\n";
    for (size_t i = 0; i < decision.obstacles.size() && i < kRows; ++i) {
        text += "- cannot judge: " + cell(decision.obstacles[i]) + "\n";
    }
    if (decision.obstacles.size() > kRows) {
        text += "- … and " + std::to_string(decision.obstacles.size() - kRows) + " more reasons\n";
    }
    text += "\n| rule | | measured | limit |\n|---|---|---|---|\n";
    for (const RuleResult& rule : decision.rules) {
        text += "| " + cell(rule.id) + " | " + (rule.passed ? "passed" : "**FAILED**") + " | " + cell(rule.measured) +
                " | " + cell(rule.limit) + " |\n";
    }
    for (const RuleResult& rule : decision.rules) {
        for (size_t i = 0; i < rule.offenders.size() && i < kRows; ++i) {
            const Offender& offender = rule.offenders[i];
            std::string more =
                "\n<details><summary>" + cell(rule.id) + ": " + cell(offender.sentence) + "</summary>\n\n";
            if (offender.finding) {
                for (const std::string& evidence : offender.finding->evidence) more += "- " + cell(evidence) + "\n";
                more += "\n";
                for (const uint32_t index : offender.process->stack(offender.finding->stack).frames) {
                    const NamedFrame& frame = offender.process->frames[index];
                    more += "    " + print::printable(frame.title()) + "  " + print::printable(frame.place()) + "\n";
                }
            }
            more += "\n</details>\n";
            if (text.size() + more.size() > kMostSummary) return text + "\n… cut\n";
            text += more;
        }
    }
    return text;
}

void write_github(std::ostream& out, const Decision& decision, const Context& context) {
    size_t annotations = 0;
    for (const std::string& obstacle : decision.obstacles) {
        if (annotations++ < kAnnotations)
            out << "::error title=vramtrace cannot judge::" << escaped(obstacle, false) << "\n";
    }
    for (const RuleResult& rule : decision.rules) {
        for (const Offender& offender : rule.offenders) {
            if (annotations++ >= kAnnotations) break;
            const auto place = location_of(offender, context);
            out << "::error title=" << escaped("vramtrace " + rule.id, true);
            if (place) out << ",file=" << escaped(place->file, true) << ",line=" << place->line;
            out << "::" << escaped(offender.sentence + "; " + rule.limit, false) << "\n";
        }
    }
    out << "vramtrace: " << print::printable(decision.sentence()) << "\n";
    const char* summary = std::getenv("GITHUB_STEP_SUMMARY");
    if (summary == nullptr || *summary == '\0') return;
    std::ofstream file(summary, std::ios::app);
    file << github_summary(decision);
    if (!file.flush()) out << "::warning title=vramtrace::the step summary could not be written\n";
}

}  // namespace vramtrace::gate
