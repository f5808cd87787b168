// SPDX-License-Identifier: Apache-2.0
#include "analyzer/symbolize/names_file.h"

#include <nlohmann/json.hpp>
#include <sstream>

#include "analyzer/files/json_file.h"
#include "analyzer/files/replaced_file.h"
#include "analyzer/print/json_writer.h"
#include "analyzer/symbolize/names_json.h"

namespace vramtrace::symbolize {

namespace {

using Json = nlohmann::json;

constexpr size_t kMaxBytes = 256U << 20;

void write_module(print::JsonWriter& json, const ModuleKey& key, const ModuleNames& module) {
    json.object();
    json.member("path", key.path).member("build_id", key.build_id).member("problem", module.problem);
    write_frames(json.key("addresses"), module.addresses);
    json.end();
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
        if (addresses != item.end()) read_frames(*addresses, module.addresses);
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
    return replace_file(path, out.str(), why);
}

}  // namespace vramtrace::symbolize
