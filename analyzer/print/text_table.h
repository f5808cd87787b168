// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace vramtrace::print {

enum class Align { Left, Right };

// A table as wide as its content: numbers to the right, names to the left, no lines drawn.
//     bytes  count  where
//     8 MiB      2  load_weights()
class TextTable {
public:
    explicit TextTable(std::vector<Align> columns, std::string indent = "  ");

    void header(std::vector<std::string> cells) { add(std::move(cells)); }
    void row(std::vector<std::string> cells) { add(std::move(cells)); }  // missing cells are empty, extra ones refused
    // A line that belongs to the row before it and has no columns (a frame of its stack, a remark).
    void line(std::string text);
    void lines(std::string_view text);  // several, each ended by a newline

    bool empty() const { return rows_.empty(); }
    std::string text() const;

private:
    struct Row {
        std::vector<std::string> cells;
        bool free_line = false;
    };
    void add(std::vector<std::string> cells);

    std::vector<Align> columns_;
    std::string indent_;
    std::vector<Row> rows_;
};

}  // namespace vramtrace::print
