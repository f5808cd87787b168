// SPDX-License-Identifier: Apache-2.0
#include "analyzer/input/run_record.h"

#include <fstream>
#include <nlohmann/json.hpp>

namespace vramtrace::input {
namespace {

constexpr std::streamsize kMaxBytes = 1 << 20;

template <typename T>
std::optional<T> number(const nlohmann::json& document, const char* key) {
    const auto found = document.find(key);
    if (found == document.end() || !found->is_number_integer()) return std::nullopt;
    return found->template get<T>();
}

}  // namespace

std::optional<RunRecord> read_run_record(const std::string& directory, std::string& warning) {
    const std::string path = directory + "/run.json";
    std::ifstream in(path, std::ios::binary);
    if (!in) return std::nullopt;
    std::string text(static_cast<size_t>(kMaxBytes), '\0');
    in.read(text.data(), kMaxBytes);
    text.resize(static_cast<size_t>(in.gcount()));
    const auto document = nlohmann::json::parse(text, nullptr, false);
    if (!document.is_object()) {
        warning = path + " is damaged: how the job ended is not known from it.";
        return std::nullopt;
    }
    RunRecord record;
    record.pid = number<uint32_t>(document, "pid").value_or(0);
    record.start_time = number<uint64_t>(document, "start_time").value_or(0);
    const auto boot = document.find("boot_id");
    if (boot != document.end() && boot->is_string()) record.boot_id = boot->get<std::string>();
    record.exit_code = number<int>(document, "exit_code");
    record.signal = number<int>(document, "signal");
    record.end_time = number<uint64_t>(document, "end_monotonic").value_or(0);
    if (record.pid == 0) return std::nullopt;
    return record;
}

}  // namespace vramtrace::input
