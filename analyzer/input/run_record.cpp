// SPDX-License-Identifier: Apache-2.0
#include "analyzer/input/run_record.h"

#include <nlohmann/json.hpp>

#include "analyzer/files/json_file.h"

namespace vramtrace::input {
namespace {

constexpr size_t kMaxBytes = 8U << 20;  // a command line has at most 6 MiB

template <typename T>
std::optional<T> number(const nlohmann::json& document, const char* key) {
    const auto found = document.find(key);
    if (found == document.end() || !found->is_number_integer()) return std::nullopt;
    return found->template get<T>();
}

}  // namespace

std::optional<RunRecord> read_run_record(const std::string& directory, std::string& warning) {
    nlohmann::json document;
    std::string problem;
    const JsonFile result = read_json_object(directory + "/run.json", kMaxBytes, document, problem);
    if (result == JsonFile::Bad) warning = problem + ": how the job ended is not known from it.";
    if (result != JsonFile::Good) return std::nullopt;
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
