// SPDX-License-Identifier: Apache-2.0
#include "analyzer/symbolize/names_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <nlohmann/json.hpp>
#include <sstream>

#include "analyzer/files/json_file.h"
#include "analyzer/print/json_writer.h"
#include "analyzer/print/units.h"

namespace vramtrace::symbolize {

namespace {

using Json = nlohmann::json;

constexpr size_t kMaxBytes = 256U << 20;

std::string text_of(const Json& object, const char* key) {
    const auto found = object.find(key);
    return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

bool parse_address(const std::string& text, uint64_t& address) {
    if (text.size() < 3 || text.compare(0, 2, "0x") != 0) return false;
    const auto result = std::from_chars(text.data() + 2, text.data() + text.size(), address, 16);
    return result.ec == std::errc() && result.ptr == text.data() + text.size();
}

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

void write_module(print::JsonWriter& json, const ModuleKey& key, const ModuleNames& module) {
    json.object();
    json.member("path", key.path).member("build_id", key.build_id).member("problem", module.problem);
    json.key("addresses").object();
    for (const auto& [address, frames] : module.addresses) {
        json.key(print::hex(address)).array();
        for (const SourceFrame& frame : frames) {
            json.object();
            json.member("function", frame.function).member("file", frame.file).member("line", frame.line);
            json.member("inlined", frame.inlined);
            json.end();
        }
        json.end();
    }
    json.end().end();
}

}  // namespace

bool read_names(const std::string& path, NamesByModule& names, std::string& why) {
    Json document;
    switch (read_json_object(path, kMaxBytes, document, why)) {
        case JsonFile::Missing:
            why.clear();
            return false;
        case JsonFile::Bad:
            return false;
        case JsonFile::Good:
            break;
    }
    const auto schema = document.find("schema_version");
    if (schema == document.end() || !schema->is_number_unsigned() || schema->get<uint64_t>() > kNamesSchema) {
        why = path + " was written by a newer vramtrace";
        return false;
    }
    const auto modules = document.find("modules");
    if (modules == document.end() || !modules->is_array()) return true;
    for (const Json& item : *modules) {
        if (!item.is_object()) continue;
        ModuleNames& module = names[{text_of(item, "path"), text_of(item, "build_id")}];
        module.problem = text_of(item, "problem");
        const auto addresses = item.find("addresses");
        if (addresses == item.end() || !addresses->is_object()) continue;
        for (const auto& [text, frames] : addresses->items()) {
            uint64_t address = 0;
            if (parse_address(text, address)) module.addresses[address] = frames_of(frames);
        }
    }
    return true;
}

bool write_names(const std::string& path, const NamesByModule& names, std::string& why) {
    std::ostringstream out;
    print::JsonWriter json(out);
    json.object();
    json.member("schema_version", kNamesSchema).key("modules").array();
    for (const auto& [key, module] : names) write_module(json, key, module);
    json.end().end();
    out << '\n';
    const std::string text = out.str();

    const std::string draft = path + "." + std::to_string(getpid()) + ".new";
    const int descriptor = open(draft.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
    bool good = descriptor >= 0;
    for (size_t done = 0; good && done < text.size();) {
        const ssize_t written = write(descriptor, text.data() + done, text.size() - done);
        if (written < 0 && errno == EINTR) continue;
        good = written > 0;
        if (good) done += static_cast<size_t>(written);
    }
    int error = errno;
    if (descriptor >= 0 && close(descriptor) != 0 && good) {
        good = false;
        error = errno;
    }
    if (good && rename(draft.c_str(), path.c_str()) != 0) {
        good = false;
        error = errno;
    }
    if (!good) {
        if (descriptor >= 0) unlink(draft.c_str());
        why = "cannot write " + path + ": " + std::strerror(error);
    }
    return good;
}

}  // namespace vramtrace::symbolize
