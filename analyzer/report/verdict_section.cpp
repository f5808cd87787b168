// SPDX-License-Identifier: Apache-2.0
#include "analyzer/report/verdict_section.h"

#include <algorithm>

#include "analyzer/print/printable.h"
#include "analyzer/print/units.h"

namespace vramtrace::report {
namespace {

constexpr size_t kFindings = 5;

std::string loop_line(const ProcessAnalysis& process) {
    if (!process.iterations) return "  no loop was found in the job's allocations: growth cannot be judged\n";
    const accounts::SiteKey& marker = process.accounts.sites[process.iterations->marker.site].key;
    const NamedStack& stack = process.stack(marker.stack);
    std::string where = process.api(marker);
    if (!stack.missing && !stack.frames.empty()) {
        const NamedFrame& frame = process.frames[stack.frames[stack.headline]];
        where = frame.title() + " at " + frame.place();
    }
    return "  " + print::counted(process.iterations->count, "iteration", "iterations") +
           " of the job's loop, counted at " + print::printable(where) + "\n";
}

}  // namespace

std::string verdict_section(const ProcessReport& report, const Options& options) {
    if (report.findings.empty()) return "";
    const size_t rows = options.full ? report.findings.size() : options.limit != 0 ? options.limit : kFindings;
    std::string text = "\nVERDICTS, worst first\n" + loop_line(*report.process);
    for (size_t i = 0; i < std::min(rows, report.findings.size()); ++i) {
        const verdict::Finding& finding = report.findings[i];
        text +=
            "  [" + std::string(verdict::weight_name(finding.weight)) + "] " + print::printable(finding.title) + "\n";
        for (const std::string& sentence : finding.evidence) text += "      " + print::printable(sentence) + "\n";
        if (!finding.remedy.empty()) text += "      → " + print::printable(finding.remedy) + "\n";
    }
    if (rows < report.findings.size()) {
        text += "  … and " + print::counted(report.findings.size() - rows, "more finding", "more findings") +
                " (-n, --full)\n";
    }
    return text;
}

void write_findings(print::JsonWriter& json, const ProcessReport& report) {
    const ProcessAnalysis& process = *report.process;
    json.key("iterations");
    if (process.iterations) {
        json.object();
        json.member("count", process.iterations->count).member("found", true);
        json.end();
    } else {
        json.null();
    }
    json.key("findings").array();
    for (const verdict::Finding& finding : report.findings) {
        json.object();
        json.member("class", verdict::class_name(finding.what)).member("weight", verdict::weight_name(finding.weight));
        json.member("title", finding.title);
        json.key("evidence").array();
        for (const std::string& sentence : finding.evidence) json.value(sentence);
        json.end();
        json.member("remedy", finding.remedy);
        json.member("bytes", finding.amount.bytes).member("count", finding.amount.count);
        json.member("quantity", replay::quantity_name(finding.quantity));
        json.key("device");
        finding.device == trace::kNoDevice ? json.null() : json.value(finding.device);
        json.member("iterations", finding.iterations);
        json.member("survivors_per_iteration", finding.survivors_per_iteration);
        json.member("bytes_per_iteration", finding.bytes_per_iteration);
        json.member("call_sites", finding.sites.size());
        const NamedStack& stack = process.stack(finding.stack);
        const bool named = finding.stack != 0 && !stack.missing && !stack.frames.empty();
        const NamedFrame* frame = named ? &process.frames[stack.frames[stack.headline]] : nullptr;
        json.member("function", frame != nullptr ? frame->title() : "")
            .member("place", frame != nullptr ? frame->place() : "");
        json.end();
    }
    json.end();
}

}  // namespace vramtrace::report
