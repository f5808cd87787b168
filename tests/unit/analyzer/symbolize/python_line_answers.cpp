// SPDX-License-Identifier: Apache-2.0
#include <iostream>
#include <string>
#include <vector>

#include "analyzer/symbolize/python_lines.h"

// What the product says about line tables, for tests/system/python_lines_test.py. A line "FORM FIRST_LINE END TABLE" on
// standard input (FORM as a number, TABLE hexadecimal, "-" if empty) is answered by the lines at bytes 0, 2, … below END.
int main() {
    unsigned form = 0;
    uint32_t first_line = 0;
    uint64_t end = 0;
    std::string digits;
    while (std::cin >> form >> first_line >> end >> digits) {
        std::vector<std::byte> table;
        for (size_t i = 0; digits != "-" && i + 2 <= digits.size(); i += 2) {
            table.push_back(static_cast<std::byte>(std::stoi(digits.substr(i, 2), nullptr, 16)));
        }
        const auto kind = static_cast<vramtrace::trace::LineTable>(form);
        for (uint64_t offset = 0; offset < end; offset += 2) {
            std::cout << vramtrace::symbolize::python_line(kind, table, first_line, offset).value_or(0) << ' ';
        }
        std::cout << '\n';
    }
}
