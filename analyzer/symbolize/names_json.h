// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "analyzer/print/json_writer.h"
#include "analyzer/symbolize/frame.h"

// Names of addresses as JSON, as symbols.json and the files of the symbol cache have them:
//   { "0x1234": [ {"function": "f()", "file": "/src/f.cpp", "line": 7, "inlined": true}, … ], "0x2000": [] }
namespace vramtrace::symbolize {

using FramesByAddress = std::map<uint64_t, SourceFrames>;

// The text of a member, empty if it is not there or no text.
std::string text_of(const nlohmann::json& object, const char* key);
bool parse_address(const std::string& text, uint64_t& address);
// Adds what can be read; the rest is left out.
void read_frames(const nlohmann::json& addresses, FramesByAddress& frames);
void write_frames(print::JsonWriter& json, const FramesByAddress& frames);

}  // namespace vramtrace::symbolize
