// SPDX-License-Identifier: Apache-2.0
#include "analyzer/print/printable.h"
#include "analyzer/print/units.h"
#include "analyzer/report/text_sections.h"

namespace vramtrace::report {

namespace {

constexpr size_t kShortStack = 8;
constexpr size_t kTitleColumns = 76;

// What lies below main() is the same for every program.
bool is_program_entry(const NamedFrame& frame) {
    return frame.function == "main" || frame.function == "_start" || frame.function == "__libc_start_main";
}

std::string frame_line(const NamedFrame& frame) {
    std::string text = print::shortened(print::printable(frame.title()), kTitleColumns);
    if (!frame.function.empty()) text += "  " + print::printable(frame.place());
    if (frame.inlined) text += "  [inlined]";
    return text;
}

}  // namespace

std::string where(const Row& row) {
    std::string text = print::shortened(print::printable(row.title), kTitleColumns);
    if (!row.place.empty() && row.title != row.place && row.title.find(row.place) == std::string::npos) {
        text += "  " + print::printable(row.place);
    }
    if (!row.caller.empty()) text += "  ← " + print::shortened(print::printable(row.caller), kTitleColumns);
    if (!row.inside.empty()) text += "  inside " + print::printable(row.inside);
    return text;
}

std::string live_heading(const ProcessAnalysis& process) {
    return process.end.at ? "LIVE AT " + print::instant(*process.end.at) : "LIVE NOW";
}

std::string what(const Row& row) {
    return row.api.empty() ? row.kind : row.kind + " by " + print::printable(row.api);
}

std::string by_call(const Row& row) {
    if (row.api.empty() || row.title.find(row.api) != std::string::npos) return {};
    return "  by " + print::printable(row.api.substr(0, row.api.find(" →")));
}

std::string stack_lines(const ProcessAnalysis& process, const NamedStack& stack, const Options& options,
                        const std::string& indent) {
    if (stack.frames.empty()) return indent + "(no stack was recorded)\n";
    std::string text;
    const size_t first = options.full ? 0 : stack.headline;
    size_t end = stack.frames.size();
    if (!options.full) {
        for (size_t i = first; i < end; ++i) {
            if (is_program_entry(process.frames[stack.frames[i]])) end = i + 1;
        }
    }
    // "… 1 more" would take the line of the one.
    const size_t shown = options.full || end - first <= kShortStack + 1 ? end : first + kShortStack;
    for (size_t i = first; i < shown; ++i) text += indent + frame_line(process.frames[stack.frames[i]]) + "\n";
    if (shown < end) text += indent + "… " + print::counted(end - shown, "more frame", "more frames") + " (--full)\n";
    if (stack.truncated && shown == stack.frames.size()) text += indent + "… deeper frames were not recorded\n";
    if (stack.incomplete && shown == stack.frames.size())
        text += indent + "… the stack could not be followed further\n";
    if (stack.guessed) text += indent + "(which of these frames ran the Python ones is a guess)\n";
    return text;
}

std::string hidden_line(const Table& table, const std::string& indent, const char* noun) {
    if (table.hidden_rows == 0) return {};
    return indent + "… and " + print::counted(table.hidden_rows, "more", "more") + " with " +
           print::bytes(table.hidden.bytes) + " in " + print::grouped(table.hidden.count) + " " + noun + " (-n " +
           std::to_string(table.rows.size() + table.hidden_rows) + " shows all)\n";
}

}  // namespace vramtrace::report
