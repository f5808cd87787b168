// SPDX-License-Identifier: Apache-2.0
#include "analyzer/gate/limits.h"

#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <stdexcept>

#include <toml++/toml.h>

#include "analyzer/gate/amounts.h"
#include "analyzer/gate/suppressions.h"

namespace vramtrace::gate {
namespace {

[[noreturn]] void wrong(const std::string& where, const std::string& what) {
    throw std::invalid_argument(where + ": " + what);
}

std::string place_of(const std::string& path, const toml::node& node) {
    return path + ":" + std::to_string(node.source().begin.line);
}

uint64_t bytes_of(const std::string& path, const toml::node& node, const std::string& key) {
    if (const auto number = node.value<int64_t>(); number && !node.is_string() && *number >= 0) {
        return static_cast<uint64_t>(*number);
    }
    if (const auto* text = node.as_string()) {
        if (const auto bytes = parse_bytes(text->get())) return *bytes;
    }
    wrong(place_of(path, node), "'" + key + "' is no number of bytes (\"64 MiB\", \"0 B\", 4096)");
}

uint64_t count_of(const std::string& path, const toml::node& node, const std::string& key) {
    if (const auto number = node.value_exact<int64_t>(); number && *number >= 0) return static_cast<uint64_t>(*number);
    wrong(place_of(path, node), "'" + key + "' is no whole number");
}

double share_of(const std::string& path, const toml::node& node, const std::string& key) {
    if (const auto number = node.value<double>(); number && !node.is_string() && *number >= 0) return *number;
    if (const auto* text = node.as_string()) {
        if (const auto share = parse_share(text->get())) return *share;
    }
    wrong(place_of(path, node), "'" + key + "' is no share (\"5 %\", 0.05)");
}

bool flag_of(const std::string& path, const toml::node& node, const std::string& key) {
    if (const auto* flag = node.as_boolean()) return flag->get();
    wrong(place_of(path, node), "'" + key + "' is neither true nor false");
}

std::string text_of(const std::string& path, const toml::node& node, const std::string& key) {
    if (const auto* text = node.as_string()) return text->get();
    wrong(place_of(path, node), "'" + key + "' is no text");
}

// A pipe would be waited for, a device read for ever.
void must_be_file(const std::string& path) {
    std::error_code error;
    if (!std::filesystem::is_regular_file(path, error)) wrong(path, error ? "cannot be read" : "is no file");
}

using Take = std::function<void(const std::string& path, const toml::node& node, const std::string& key)>;

void take_table(const std::string& path, const toml::table& table, const std::map<std::string, Take>& known) {
    for (const auto& [name, node] : table) {
        const std::string key(name.str());
        const auto take = known.find(key);
        if (take == known.end()) {
            std::string list;
            for (const auto& [word, unused] : known) list += (list.empty() ? "" : ", ") + word;
            wrong(place_of(path, node), "'" + key + "' is not known here; known are " + list);
        }
        take->second(path, node, key);
    }
}

template <typename Value, typename Read>
Take into(Value& place, Read read) {
    return [&place, read](const std::string& path, const toml::node& node, const std::string& key) {
        place = read(path, node, key);
    };
}

Suppression suppression_of(const std::string& path, const toml::node& node) {
    const toml::table* table = node.as_table();
    if (table == nullptr) wrong(place_of(path, node), "a suppression is a table: [[suppression]]");
    Suppression suppression;
    suppression.origin = place_of(path, node);
    take_table(path, *table,
               {{"leak", into(suppression.pattern, text_of)},
                {"kind", into(suppression.kind, text_of)},
                {"max_bytes", into(suppression.most_bytes, bytes_of)},
                {"max_allocations", into(suppression.most_allocations, count_of)},
                {"reason", into(suppression.reason, text_of)},
                {"until", [&](const std::string& file, const toml::node& date, const std::string& key) {
                     if (const auto* given = date.as_date()) {
                         char text[16];
                         std::snprintf(text, sizeof text, "%04d-%02d-%02d", given->get().year % 10000,
                                       given->get().month % 100, given->get().day % 100);
                         suppression.until = text;
                     } else {
                         suppression.until = text_of(file, date, key);
                     }
                 }}});
    if (suppression.pattern.empty()) wrong(suppression.origin, "a suppression needs 'leak', the pattern");
    if (!suppression.until.empty() && !is_date(suppression.until)) {
        wrong(suppression.origin, "'until' is no date (2027-01-31)");
    }
    return suppression;
}

}  // namespace

bool Limits::any() const {
    return leaked_bytes || leaked_allocations || leaked_bytes_per_site || growth || peak || peak_tolerance ||
           fragmentation || failed_allocations || handles;
}

Limits Limits::usual() {
    Limits limits;
    limits.leaked_bytes = 0;
    limits.growth = 0;
    return limits;
}

GateFile read_gate_file(const std::string& path) {
    must_be_file(path);
    toml::table document;
    try {
        document = toml::parse_file(path);
    } catch (const toml::parse_error& error) {
        const uint32_t line = error.source().begin.line;
        wrong(line == 0 ? path : path + ":" + std::to_string(line), std::string(error.description()));
    }
    GateFile file;
    Limits& limits = file.limits;
    const std::map<std::string, Take> gate = {
        {"leaked_bytes", into(limits.leaked_bytes, bytes_of)},
        {"leaked_allocations", into(limits.leaked_allocations, count_of)},
        {"leaked_bytes_per_site", into(limits.leaked_bytes_per_site, bytes_of)},
        {"growth_per_iteration", into(limits.growth, bytes_of)},
        {"peak", into(limits.peak, bytes_of)},
        {"peak_tolerance", into(limits.peak_tolerance, share_of)},
        {"fragmentation", into(limits.fragmentation, share_of)},
        {"failed_allocations", into(limits.failed_allocations, count_of)},
        {"handles", into(limits.handles, count_of)},
        {"phase", into(file.phase, text_of)},
        {"survivors", into(file.survivors, flag_of)},
        {"baseline", into(file.baseline, text_of)},
        {"suppressions", [&](const std::string& in, const toml::node& node, const std::string& key) {
             file.suppression_files.push_back(text_of(in, node, key));
         }}};
    take_table(path, document,
               {{"gate",
                 [&](const std::string& in, const toml::node& node, const std::string&) {
                     const toml::table* table = node.as_table();
                     if (table == nullptr) wrong(place_of(in, node), "'gate' is a table: [gate]");
                     take_table(in, *table, gate);
                 }},
                {"suppression", [&](const std::string& in, const toml::node& node, const std::string&) {
                     const toml::array* list = node.as_array();
                     if (list == nullptr) wrong(place_of(in, node), "suppressions are tables: [[suppression]]");
                     for (const toml::node& one : *list) file.suppressions.push_back(suppression_of(in, one));
                 }}});
    return file;
}

std::vector<Suppression> read_suppressions(const std::string& path) {
    must_be_file(path);
    std::ifstream in(path);
    if (!in) wrong(path, "cannot be read");
    std::vector<Suppression> suppressions;
    std::string line;
    for (unsigned number = 1; std::getline(in, line); ++number) {
        const size_t begin = line.find_first_not_of(" \t\r");
        if (begin == std::string::npos || line[begin] == '#') continue;
        const size_t end = line.find_last_not_of(" \t\r");
        const std::string text = line.substr(begin, end - begin + 1);
        const std::string where = path + ":" + std::to_string(number);
        if (text.rfind("leak:", 0) != 0 || text.size() == 5) wrong(where, "only 'leak:PATTERN' is known");
        Suppression suppression;
        suppression.pattern = text.substr(5);
        suppression.origin = where;
        suppressions.push_back(std::move(suppression));
    }
    return suppressions;
}

}  // namespace vramtrace::gate
