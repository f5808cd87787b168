// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "trace/definition.h"

// LINES OF PYTHON CODE: from the interpreter's own line tables, which the trace keeps as they were.
namespace vramtrace::symbolize {

// The line that the instruction at byte `offset` belongs to. Nothing if the interpreter would say "no line" as well, or
// if the table is damaged or does not reach that far. Reads every byte of the table at most once, whatever is in it.
//     None: first_line, since no more is known.
std::optional<uint32_t> python_line(trace::LineTable form, std::span<const std::byte> table, uint32_t first_line,
                                    uint64_t offset);

// A CodeObject definition. Of lengths that do not fit, what is there.
struct PythonCode {
    std::string file;  // co_filename: as the program named it, so perhaps relative
    std::string name;  // qualified from Python 3.11 on
    uint32_t first_line = 0;
    trace::LineTable form = trace::LineTable::None;
    std::vector<std::byte> table;

    // Nothing if `body` is too short to be one.
    static std::optional<PythonCode> read(std::span<const std::byte> body);
    // 0 = not known.
    uint32_t line_at(uint64_t offset) const { return python_line(form, table, first_line, offset).value_or(0); }
};

}  // namespace vramtrace::symbolize
