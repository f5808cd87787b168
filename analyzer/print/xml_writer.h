// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/print/printable.h"

namespace vramtrace::print {

// Writes XML 1.0 as it goes: always well-formed UTF-8. Characters that XML cannot hold (controls, broken UTF-8) become U+FFFD.
//     XmlWriter xml(out);
//     xml.element("testsuite").attribute("name", "x"); xml.text("…"); xml.end();
class XmlWriter {
public:
    explicit XmlWriter(std::ostream& out) : out_(out) { out_ << "<?xml version=\"1.0\" encoding=\"UTF-8\"?>"; }

    XmlWriter& element(const char* name) {
        close_tag();
        out_ << '\n' << std::string(2 * open_.size(), ' ') << '<' << name;
        open_.push_back({name, false});
        in_tag_ = true;
        return *this;
    }
    // Directly after element() or another attribute().
    XmlWriter& attribute(const char* name, std::string_view value) {
        out_ << ' ' << name << "=\"";
        write(value, true);
        out_ << '"';
        return *this;
    }
    XmlWriter& attribute(const char* name, size_t value) { return attribute(name, std::to_string(value)); }
    XmlWriter& text(std::string_view content) {
        close_tag();
        write(content, false);
        open_.back().has_text = true;
        return *this;
    }
    XmlWriter& end() {
        const Level level = open_.back();
        open_.pop_back();
        if (in_tag_) {
            out_ << "/>";
            in_tag_ = false;
        } else {
            if (!level.has_text) out_ << '\n' << std::string(2 * open_.size(), ' ');
            out_ << "</" << level.name << '>';
        }
        if (open_.empty()) out_ << '\n';
        return *this;
    }

private:
    struct Level {
        const char* name;
        bool has_text;
    };

    void close_tag() {
        if (in_tag_) out_ << '>';
        in_tag_ = false;
    }
    void write(std::string_view text, bool in_attribute) {
        while (!text.empty()) {
            const auto byte = static_cast<unsigned char>(text[0]);
            const unsigned length = utf8_length(text);
            if (byte == '&') {
                out_ << "&amp;";
            } else if (byte == '<') {
                out_ << "&lt;";
            } else if (byte == '>') {
                out_ << "&gt;";
            } else if (byte == '"') {
                out_ << "&quot;";
            } else if (byte == '\n' || byte == '\t') {
                in_attribute ? out_ << "&#" << unsigned{byte} << ';' : out_ << text[0];
            } else if (length == 0 || byte < 0x20 || byte == 0x7f) {
                out_ << "\xef\xbf\xbd";
            } else {
                out_ << text.substr(0, length);
            }
            text.remove_prefix(length == 0 ? 1 : length);
        }
    }

    std::ostream& out_;
    std::vector<Level> open_;
    bool in_tag_ = false;
};

}  // namespace vramtrace::print
