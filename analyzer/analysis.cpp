// SPDX-License-Identifier: Apache-2.0
#include "analyzer/analysis.h"

#include <algorithm>

#include "analyzer/print/units.h"
#include "analyzer/process_facts.h"
#include "analyzer/symbolize/vendor_libraries.h"

namespace vramtrace {

std::string NamedFrame::module_name() const {
    return std::string(symbolize::file_name(module));
}

std::string NamedFrame::place() const {
    if (!file.empty() && line != 0) return std::string(symbolize::file_name(file)) + ":" + std::to_string(line);
    return module_name() + "+" + print::hex(offset);
}

std::string NamedFrame::title() const {
    return function.empty() ? module_name() + "+" + print::hex(offset) : function;
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
    // Events for which there was no room leave no gap behind: only the others tell when it began.
    const bool untimed = status.losses[static_cast<size_t>(trace::Loss::RingFull)] != 0 ||
                         status.losses[static_cast<size_t>(trace::Loss::BeforeOpen)] != 0;
    if (untimed) return 0;
    std::optional<uint64_t> until = first_gap;
    if (accounts.stopped) until = std::min(until.value_or(UINT64_MAX), accounts.stopped->time);
    return until.value_or(0);
}

std::string ProcessAnalysis::thread_name(uint32_t thread) const {
    const auto found = facts.thread_names.find(thread);
    std::string text = "thread " + std::to_string(thread);
    if (found != facts.thread_names.end() && !found->second.empty()) text += " (" + found->second + ")";
    return text;
}

}  // namespace vramtrace
