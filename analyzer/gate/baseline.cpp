// SPDX-License-Identifier: Apache-2.0
#include "analyzer/gate/baseline.h"

#include <cerrno>
#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <system_error>

#include "analyzer/files/json_file.h"
#include "analyzer/print/json_writer.h"
#include "analyzer/site_key.h"

namespace vramtrace::gate {
namespace {

constexpr int kSchema = 1;
constexpr size_t kMostBytes = 64U << 20;

// FNV-1a, 64 bits: stable over machines and versions.
class Fingerprint {
public:
    void add(std::string_view text) {
        for (const char byte : text) take(static_cast<unsigned char>(byte));
        take(0);
    }
    std::string text() const {
        char digits[17];
        std::snprintf(digits, sizeof digits, "%016llx", static_cast<unsigned long long>(hash_));
        return digits;
    }

private:
    void take(unsigned char byte) { hash_ = (hash_ ^ byte) * 0x100000001b3ULL; }
    uint64_t hash_ = 0xcbf29ce484222325ULL;
};

}  // namespace

std::string site_fingerprint(const ProcessAnalysis& process, const verdict::Finding& finding) {
    Fingerprint fingerprint;
    fingerprint.add(replay::quantity_name(finding.quantity));
    const NamedStack& stack = process.stack(finding.stack);
    if (stack.missing || stack.frames.empty()) fingerprint.add(finding.key);
    for (const std::string& part : site_parts(process, stack, SiteDetail::Offsets)) fingerprint.add(part);
    return fingerprint.text();
}

Baseline read_baseline(const std::string& path) {
    nlohmann::json document;
    std::string problem;
    switch (read_json_object(path, kMostBytes, document, problem)) {
        case JsonFile::Good:
            break;
        case JsonFile::Missing:
            throw std::invalid_argument(path + " is not there");
        case JsonFile::Bad:
            throw std::invalid_argument(problem);
    }
    Baseline baseline;
    try {
        if (document.at("tool") != "vramtrace baseline")
            throw std::invalid_argument(path + " is no baseline of vramtrace");
        if (document.at("schema_version") != kSchema)
            throw std::invalid_argument(path +
                                        " is a baseline of another version; write it anew with --write-baseline");
        for (const auto& [key, site] : document.at("sites").items()) {
            baseline.sites[key] = {site.at("title"), site.at("class"), site.at("bytes"), site.at("count"),
                                   site.at("bytes_per_iteration")};
        }
        for (const auto& [device, bytes] : document.at("peaks").items()) baseline.peaks[device] = bytes;
    } catch (const nlohmann::json::exception&) {
        throw std::invalid_argument(path + " is no baseline of vramtrace, or a damaged one");
    }
    return baseline;
}

void write_baseline(const std::string& path, const Baseline& baseline) {
    const std::string fresh = path + ".new";
    {
        std::ofstream out(fresh);
        print::JsonWriter json(out);
        json.object().member("tool", "vramtrace baseline").member("schema_version", kSchema);
        json.key("peaks").object();
        for (const auto& [device, bytes] : baseline.peaks) json.member(device, bytes);
        json.end();
        json.key("sites").object();
        for (const auto& [key, site] : baseline.sites) {
            json.key(key).object().member("title", site.title).member("class", site.what).member("bytes", site.bytes);
            json.member("count", site.count).member("bytes_per_iteration", site.bytes_per_iteration).end();
        }
        json.end().end();
        out << '\n';
        out.flush();
        if (!out) throw std::system_error(errno, std::generic_category(), fresh);
    }
    if (std::rename(fresh.c_str(), path.c_str()) != 0) throw std::system_error(errno, std::generic_category(), path);
}

}  // namespace vramtrace::gate
