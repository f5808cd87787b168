// SPDX-License-Identifier: Apache-2.0
#include "analyzer/print/text_table.h"

#include <algorithm>

#include "analyzer/print/printable.h"

namespace vramtrace::print {

TextTable::TextTable(std::vector<Align> columns, std::string indent)
    : columns_(std::move(columns)), indent_(std::move(indent)) {}

void TextTable::add(std::vector<std::string> cells) {
    cells.resize(columns_.size());
    rows_.push_back({std::move(cells), false});
}

void TextTable::line(std::string text) {
    rows_.push_back({{std::move(text)}, true});
}

void TextTable::lines(std::string_view text) {
    while (!text.empty()) {
        const size_t end = text.find('\n');
        line(std::string(text.substr(0, end)));
        text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    }
}

std::string TextTable::text() const {
    std::vector<size_t> widths(columns_.size(), 0);
    for (const Row& row : rows_) {
        if (row.free_line) continue;
        for (size_t i = 0; i < columns_.size(); ++i) widths[i] = std::max(widths[i], columns(row.cells[i]));
    }
    std::string out;
    for (const Row& row : rows_) {
        std::string text = indent_;
        if (row.free_line) {
            text += row.cells[0];
        } else {
            for (size_t i = 0; i < columns_.size(); ++i) {
                const std::string padding(widths[i] - columns(row.cells[i]), ' ');
                if (i != 0) text += "  ";
                text += columns_[i] == Align::Right ? padding + row.cells[i] : row.cells[i] + padding;
            }
        }
        text.erase(text.find_last_not_of(' ') + 1);
        out += text + "\n";
    }
    return out;
}

}  // namespace vramtrace::print
