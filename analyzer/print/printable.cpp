// SPDX-License-Identifier: Apache-2.0
#include "analyzer/print/printable.h"

#include <cstdint>

namespace vramtrace::print {

namespace {

bool is_continuation(char byte) {
    return (static_cast<unsigned char>(byte) & 0xc0U) == 0x80U;
}

void append_hex(std::string& out, unsigned char byte) {
    constexpr char kDigits[] = "0123456789abcdef";
    out += "\\x";
    out += kDigits[byte >> 4U];
    out += kDigits[byte & 15U];
}

}  // namespace

unsigned utf8_length(std::string_view text) {
    const auto first = static_cast<unsigned char>(text[0]);
    if (first < 0x80) return 1;
    const unsigned length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
    if (first < 0xc2 || first > 0xf4 || text.size() < length) return 0;
    uint32_t value = first & (0xffU >> (length + 1));
    for (unsigned i = 1; i < length; ++i) {
        if (!is_continuation(text[i])) return 0;
        value = (value << 6U) | (static_cast<unsigned char>(text[i]) & 0x3fU);
    }
    if (length == 3 && (value < 0x800 || (value >= 0xd800 && value < 0xe000))) return 0;
    if (length == 4 && (value < 0x10000 || value > 0x10ffff)) return 0;
    return length;
}

std::string printable(std::string_view text) {
    std::string out;
    out.reserve(text.size());
    while (!text.empty()) {
        const auto byte = static_cast<unsigned char>(text[0]);
        unsigned length = utf8_length(text);
        if (byte == '\n') {
            out += "\\n";
        } else if (byte == '\t') {
            out += "\\t";
        } else if (byte == '\r') {
            out += "\\r";
        } else if (length == 0 || byte < 0x20 || byte == 0x7f) {
            append_hex(out, byte);
            length = 1;
        } else if (length == 2 && byte == 0xc2 && static_cast<unsigned char>(text[1]) < 0xa0) {
            // C1 controls (U+0080…U+009F): some terminals obey them like ESC [.
            append_hex(out, byte);
            append_hex(out, static_cast<unsigned char>(text[1]));
        } else {
            out.append(text.substr(0, length));
        }
        text.remove_prefix(length == 0 ? 1 : length);
    }
    return out;
}

size_t columns(std::string_view text) {
    size_t count = 0;
    for (const char byte : text) count += is_continuation(byte) ? 0 : 1;
    return count;
}

std::string shortened(std::string_view text, size_t limit) {
    if (columns(text) <= limit || limit < 3) return std::string(text);
    const size_t tail = (limit - 1) / 2;
    const size_t head = limit - 1 - tail;
    size_t cut = 0;
    for (size_t seen = 0; cut < text.size(); ++cut) {
        if (!is_continuation(text[cut]) && seen++ == head) break;
    }
    size_t resume = text.size();
    for (size_t seen = 0; resume > cut && seen < tail;) {
        --resume;
        if (!is_continuation(text[resume])) ++seen;
    }
    return std::string(text.substr(0, cut)) + "…" + std::string(text.substr(resume));
}

}  // namespace vramtrace::print
