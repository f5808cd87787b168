// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace vramtrace::print {

// Names come out of other people's files: a path or a symbol may hold escape sequences that would drive a terminal.
// Gives `text` with control characters, DEL and bytes that are not UTF-8 spelt as \n, \t, \x1b, …; anything else stays.
std::string printable(std::string_view text);

// Length of the valid UTF-8 sequence at the start of `text`, 0 if there is none (text not empty). Overlong forms,
// surrogates and values above U+10FFFF are not valid.
unsigned utf8_length(std::string_view text);

// The number of characters (code points) of valid UTF-8: what a terminal's columns need, wide characters apart.
size_t columns(std::string_view text);

// At most `limit` columns, the middle replaced by "…": both ends of a long name say something.
std::string shortened(std::string_view text, size_t limit);

}  // namespace vramtrace::print
