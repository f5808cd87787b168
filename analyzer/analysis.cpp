// SPDX-License-Identifier: Apache-2.0
#include "analyzer/analysis.h"

#include <algorithm>

#include "analyzer/input/open_input.h"
#include "analyzer/print/units.h"
#include "analyzer/process_facts.h"
#include "analyzer/symbolize/vendor_libraries.h"
#include "trace/container/input_error.h"

namespace vramtrace {

std::string NamedFrame::module_name() const {
    return std::string(symbolize::file_name(module));
}

std::string NamedFrame::place() const {
    if (!file.empty() && line != 0) return std::string(symbolize::file_name(file)) + ":" + std::to_string(line);
    if (python) return file.empty() ? "[unknown Python code]" : module_name();
    return module_name() + "+" + print::hex(offset);
}

std::string NamedFrame::title() const {
    if (!node.empty()) return node + " (autograd)";
    if (!function.empty()) return function;
    return python ? place() : module_name() + "+" + print::hex(offset);
}

const NamedStack& ProcessAnalysis::stack(uint32_t id) const {
    static const NamedStack kMissing = [] {
        NamedStack stack;
        stack.missing = true;
        return stack;
    }();
    const auto found = stacks.find(id);
    return found != stacks.end() ? found->second : kMissing;
}

std::string ProcessAnalysis::api(const accounts::SiteKey& site) const {
    const auto name = [&](uint8_t index) { return index < names.size() ? names[index] : "#" + std::to_string(index); };
    if (site.label == trace::kNoName) return site.api == trace::kNoName ? "" : name(site.api);
    if (site.api == trace::kNoName) return name(site.label);
    return name(site.label) + " → " + name(site.api);
}

const std::string& ProcessAnalysis::text(uint32_t string_definition) const {
    static const std::string kNothing;
    const auto found = texts.find(string_definition);
    return found != texts.end() ? found->second : kNothing;
}

uint64_t ProcessAnalysis::lost_events() const {
    const auto lost = [&](trace::Loss reason) { return status.losses[static_cast<size_t>(reason)]; };
    return lost(trace::Loss::RingFull) + lost(trace::Loss::Abandoned) + lost(trace::Loss::Stopped) +
           lost(trace::Loss::BeforeOpen) + status.missing_tickets;
}

uint64_t ProcessAnalysis::since_start(uint64_t time) const {
    const uint64_t start = status.identity.open_monotonic != 0 && status.identity.open_monotonic <= accounts.first.time
                               ? status.identity.open_monotonic
                               : accounts.first.time;
    return time > start ? time - start : 0;
}

std::optional<uint64_t> ProcessAnalysis::judged_until() const {
    if (lost_events() == 0 && !accounts.stopped) return std::nullopt;
    const auto lost = [&](trace::Loss reason) { return status.losses[static_cast<size_t>(reason)] != 0; };
    const bool untimed = lost(trace::Loss::BeforeOpen) || (lost(trace::Loss::RingFull) && status.first_loss_time == 0);
    if (untimed) return 0;
    uint64_t until = first_gap.value_or(UINT64_MAX);
    if (status.first_loss_time != 0) until = std::min(until, status.first_loss_time);
    if (accounts.stopped) until = std::min(until, accounts.stopped->time);
    return until == UINT64_MAX ? 0 : until;
}

std::string ProcessAnalysis::setting(std::string_view name) const {
    for (const std::string& text : facts.settings) {
        if (text.size() > name.size() && text.compare(0, name.size(), name) == 0 && text[name.size()] == '=')
            return text.substr(name.size() + 1);
    }
    return {};
}

std::string ProcessAnalysis::thread_name(uint32_t thread) const {
    const auto found = facts.thread_names.find(thread);
    std::string text = "thread " + std::to_string(thread);
    if (found != facts.thread_names.end() && !found->second.empty()) text += " (" + found->second + ")";
    return text;
}

bool ProcessAnalysis::kept_by_runtime(const accounts::SiteKey& site) const {
    using accounts::Kind;
    const bool loaded = site.kind == Kind::Module || site.kind == Kind::Library || site.kind == Kind::PrimaryContext;
    if (!loaded) return false;
    if (site.label != trace::kNoName) {
        // Asked for by name (cudaLibraryLoadData, …), or on the way of any other call?
        const std::string name = site.label < names.size() ? names[site.label] : "";
        return name.rfind("cudaLibrary", 0) != 0;
    }
    const NamedStack& named = stack(site.stack);
    return !named.recorded().empty() && frames[named.recorded()[0]].vendor;
}

const instant::Picture* ProcessAnalysis::picture(uint8_t device, replay::Moment moment) const {
    for (const instant::Picture& picture : pictures) {
        if (picture.device == device && picture.moment.ticket == moment.ticket) return &picture;
    }
    return nullptr;
}

Analysis analyze(const AnalysisOptions& options) {
    const input::Input opened = input::open_input(options.path);
    Analysis analysis;
    analysis.path = opened.path;
    analysis.warnings = opened.warnings;
    symbolize::Symbolizer symbolizer(options.symbols);
    const std::string directory = opened.processes.empty() ? opened.path : opened.processes[0].files.directory;
    const std::string names_file = directory + "/symbols.json";
    std::string why;
    if (!symbolizer.load(names_file, why) && !why.empty()) analysis.warnings.push_back(why);
    const auto run = read_run_details(directory);
    if (run) analysis.framework_detail = run->framework_detail;

    std::vector<ProcessReading> readings;
    for (const input::ProcessInput& process : opened.processes) {
        if (options.pid && process.identity.pid != *options.pid) continue;
        try {
            const auto source = process.open();
            const ReadingOptions reading_options{options.at, options.phase};
            ProcessReading& reading = readings.emplace_back(*source, symbolizer, options.progress, reading_options);
            if (options.read_twice) reading.read_again(*process.open(), symbolizer, options.progress);
        } catch (const trace::InputError& error) {
            analysis.warnings.emplace_back(error.what());
        }
    }
    if (readings.empty() && !analysis.warnings.empty()) throw trace::InputError(analysis.warnings.front());
    if (options.look_up_symbols) symbolizer.resolve();
    analysis.symbol_problems = symbolizer.problems();
    for (ProcessReading& reading : readings) {
        analysis.processes.push_back(std::move(reading).named(symbolizer, options.shown));
        ProcessAnalysis& process = analysis.processes.back();
        process.end = process_end(process.status, run);
        if (process.cut_at) process.end = ProcessEnd::then(*process.cut_at);
    }
    return analysis;
}

}  // namespace vramtrace
