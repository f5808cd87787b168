// SPDX-License-Identifier: Apache-2.0
#include "analyzer/symbolize/names_json.h"

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>

#include "analyzer/print/units.h"

namespace vramtrace::symbolize {

using Json = nlohmann::json;

std::string text_of(const Json& object, const char* key) {
    const auto found = object.find(key);
    return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

bool parse_address(const std::string& text, uint64_t& address) {
    if (text.size() < 3 || text.compare(0, 2, "0x") != 0) return false;
    const auto result = std::from_chars(text.data() + 2, text.data() + text.size(), address, 16);
    return result.ec == std::errc() && result.ptr == text.data() + text.size();
}

namespace {

SourceFrames frames_of(const Json& list) {
    SourceFrames frames;
    if (!list.is_array()) return frames;
    for (const Json& item : list) {
        if (!item.is_object()) continue;
        SourceFrame frame;
        frame.function = text_of(item, "function");
        frame.file = text_of(item, "file");
        if (const auto line = item.find("line"); line != item.end() && line->is_number_unsigned()) {
            frame.line = static_cast<uint32_t>(std::min<uint64_t>(line->get<uint64_t>(), UINT32_MAX));
        }
        if (const auto inlined = item.find("inlined"); inlined != item.end() && inlined->is_boolean()) {
            frame.inlined = inlined->get<bool>();
        }
        frames.push_back(std::move(frame));
    }
    return frames;
}

}  // namespace

void read_frames(const Json& addresses, FramesByAddress& frames) {
    if (!addresses.is_object()) return;
    for (const auto& [text, list] : addresses.items()) {
        uint64_t address = 0;
        if (parse_address(text, address)) frames[address] = frames_of(list);
    }
}

void write_frames(print::JsonWriter& json, const FramesByAddress& frames) {
    json.object();
    for (const auto& [address, list] : frames) {
        json.key(print::hex(address)).array();
        for (const SourceFrame& frame : list) {
            json.object();
            json.member("function", frame.function).member("file", frame.file).member("line", frame.line);
            json.member("inlined", frame.inlined);
            json.end();
        }
        json.end();
    }
    json.end();
}

}  // namespace vramtrace::symbolize
