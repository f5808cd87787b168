// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <ostream>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "analyzer/print/printable.h"

namespace vramtrace::print {

// Writes JSON as it goes: a report may be larger than one would like to hold in memory. Output is always valid UTF-8
// and pure JSON: bytes that are not UTF-8 become U+FFFD, control characters are escaped, NaN becomes null.
//     JsonWriter json(out);
//     json.object(); json.key("bytes").value(3); json.key("names").array(); … json.end(); json.end();
class JsonWriter {
public:
    // indent 0 writes one line without blanks (for JSON Lines).
    explicit JsonWriter(std::ostream& out, unsigned indent = 1) : out_(out), indent_(indent) {}

    JsonWriter& object() { return open('{', '}'); }
    JsonWriter& array() { return open('[', ']'); }
    JsonWriter& end() {
        const Level level = levels_.back();
        levels_.pop_back();
        if (level.used) line_break();
        out_ << level.closing;
        return *this;
    }
    JsonWriter& key(std::string_view name) {
        separate();
        quote(name);
        out_ << (indent_ != 0 ? ": " : ":");
        after_key_ = true;
        return *this;
    }
    JsonWriter& value(std::string_view text) {
        separate();
        quote(text);
        return *this;
    }
    JsonWriter& value(const char* text) { return value(std::string_view(text)); }
    JsonWriter& value(const std::string& text) { return value(std::string_view(text)); }
    template <typename Number, std::enable_if_t<std::is_arithmetic_v<Number>, int> = 0>
    JsonWriter& value(Number number) {
        separate();
        if constexpr (std::is_same_v<Number, bool>) {
            out_ << (number ? "true" : "false");
        } else if constexpr (std::is_floating_point_v<Number>) {
            char buffer[32];
            std::snprintf(buffer, sizeof buffer, "%.9g", static_cast<double>(number));
            out_ << (number - number == 0 ? buffer : "null");
        } else {
            out_ << std::to_string(number);
        }
        return *this;
    }
    JsonWriter& null() {
        separate();
        out_ << "null";
        return *this;
    }
    template <typename Value>
    JsonWriter& member(std::string_view name, const Value& content) {
        return key(name).value(content);
    }

private:
    struct Level {
        char closing;
        bool used;
    };

    JsonWriter& open(char opening, char closing) {
        separate();
        out_ << opening;
        levels_.push_back({closing, false});
        return *this;
    }
    void separate() {
        if (after_key_) {
            after_key_ = false;
            return;
        }
        if (levels_.empty()) return;
        if (levels_.back().used) out_ << ',';
        levels_.back().used = true;
        line_break();
    }
    void line_break() {
        if (indent_ == 0) return;
        out_ << '\n' << std::string(indent_ * levels_.size(), ' ');
    }
    void quote(std::string_view text) {
        out_ << '"';
        while (!text.empty()) {
            const auto byte = static_cast<unsigned char>(text[0]);
            const unsigned length = utf8_length(text);
            if (byte == '"' || byte == '\\') {
                out_ << '\\' << text[0];
            } else if (byte < 0x20 || byte == 0x7f) {
                char buffer[8];
                std::snprintf(buffer, sizeof buffer, "\\u%04x", byte);
                out_ << buffer;
            } else if (length == 0) {
                out_ << "\xef\xbf\xbd";
            } else {
                out_ << text.substr(0, length);
            }
            text.remove_prefix(length == 0 ? 1 : length);
        }
        out_ << '"';
    }

    std::ostream& out_;
    unsigned indent_;
    bool after_key_ = false;
    std::vector<Level> levels_;
};

}  // namespace vramtrace::print
