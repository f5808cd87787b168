// SPDX-License-Identifier: Apache-2.0
#include "analyzer/cli/run_record.h"

#include <fcntl.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "analyzer/files/json_file.h"
#include "analyzer/print/json_writer.h"
#include "trace/container/process_watch.h"

namespace vramtrace::cli {

namespace {

std::string host_name() {
    utsname names{};
    return uname(&names) == 0 ? names.nodename : "";
}

std::string boot_id() {
    std::ifstream in("/proc/sys/kernel/random/boot_id");
    std::string id;
    std::getline(in, id);
    return id;
}

template <typename Number>
void number_or_null(print::JsonWriter& json, const char* key, bool known, Number value) {
    json.key(key);
    if (known) {
        json.value(value);
    } else {
        json.null();
    }
}

}  // namespace

bool other_job_runs(const std::string& directory) {
    nlohmann::json document;
    std::string ignored;
    constexpr size_t kMaxBytes = 8U << 20;
    if (read_json_object(directory + "/run.json", kMaxBytes, document, ignored) != JsonFile::Good) return false;
    if (document.value("running", nlohmann::json()) != nlohmann::json(true)) return false;
    const nlohmann::json pid = document.value("pid", nlohmann::json());
    const nlohmann::json start = document.value("start_time", nlohmann::json());
    if (!pid.is_number_unsigned() || !start.is_number_unsigned()) return false;
    return trace::start_time_of(pid.get<uint32_t>()) == start.get<uint64_t>() && start.get<uint64_t>() != 0;
}

bool write_run_record(const std::string& directory, const std::vector<std::string>& command, const JobEnd& end,
                      bool running, const std::vector<ChosenVariable>& detail) {
    std::ostringstream out;
    print::JsonWriter json(out);
    std::error_code ignored;
    const bool ended = !running && end.start_error == 0;
    json.object().member("schema_version", kRunSchema);
    json.member("pid", static_cast<int64_t>(end.pid)).member("start_time", end.start_time);
    json.member("host", host_name()).member("boot_id", boot_id());
    json.member("directory", std::filesystem::current_path(ignored).string());
    json.key("command").array();
    for (const std::string& word : command) json.value(word);
    json.end().member("running", running);
    number_or_null(json, "exit_code", ended && end.signal == 0, end.exit_code);
    number_or_null(json, "signal", ended && end.signal != 0, end.signal);
    json.member("core_dumped", end.core_dumped);
    number_or_null(json, "start_error", end.start_error != 0, end.start_error);
    json.member("start_realtime", end.started_realtime);
    number_or_null(json, "end_realtime", !running, end.ended_realtime);
    json.member("start_monotonic", end.started_monotonic);
    number_or_null(json, "end_monotonic", !running, end.ended_monotonic);
    number_or_null(json, "max_rss_bytes", ended, end.max_rss_bytes);
    number_or_null(json, "user_seconds", ended, end.user_seconds);
    number_or_null(json, "system_seconds", ended, end.system_seconds);
    json.key("framework_detail").array();
    for (const ChosenVariable& variable : detail) {
        json.object().member("framework", variable.framework).member("name", variable.name);
        json.member("value", variable.value).member("by_user", variable.by_user).end();
    }
    json.end().end();
    out << '\n';

    const std::string path = directory + "/run.json";
    const std::string draft = path + "." + std::to_string(getpid()) + ".new";
    const int descriptor = open(draft.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (descriptor < 0) return false;
    const std::string text = out.str();
    bool good = write(descriptor, text.data(), text.size()) == static_cast<ssize_t>(text.size());
    good = close(descriptor) == 0 && good && rename(draft.c_str(), path.c_str()) == 0;
    if (!good) unlink(draft.c_str());
    return good;
}

}  // namespace vramtrace::cli
