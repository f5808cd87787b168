// SPDX-License-Identifier: Apache-2.0
#include "analyzer/cli/trace_directory.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <thread>

#include "analyzer/cli/run_record.h"
#include "trace/container/collector_lock.h"
#include "trace/container/process_watch.h"
#include "trace/trace_name.h"

namespace vramtrace::cli {

namespace {

namespace files = std::filesystem;

constexpr std::chrono::seconds kCollectorLeaves{4};  // twice what it waits for another job

// The suffix of a process's file ("", if it is none), and its stem.
std::string suffix_of(const std::string& name, std::string* stem = nullptr) {
    const char* suffix = nullptr;
    const size_t length = trace::stem_length(name.c_str(), &suffix);
    if (length == 0) return {};
    if (stem != nullptr) *stem = name.substr(0, length);
    return suffix;
}

bool is_event_file(const std::string& name) {
    const std::string suffix = suffix_of(name);
    return suffix == trace::suffix::kContainer || suffix == trace::suffix::kWhere ||
           suffix.rfind(trace::suffix::kRing, 0) == 0;
}

bool is_trace_file(const std::string& name) {
    return !suffix_of(name).empty() || name == "run.json" || name == "symbols.json" || name == "collector.lock" ||
           name == "collector.log" || name == "live.json";
}

template <typename Visit>
void for_each_name(const std::string& directory, Visit visit) {
    std::error_code ignored;
    for (files::directory_iterator it(directory, ignored), end; !ignored && it != end; it.increment(ignored)) {
        visit(it->path());
    }
}

// Calls visit(pid, start time) of the process of each ring in it.
template <typename Visit>
void for_each_ring(const std::string& directory, Visit visit) {
    for_each_name(directory, [&](const files::path& path) {
        std::string stem;
        const std::string suffix = suffix_of(path.filename().string(), &stem);
        if (suffix != trace::suffix::kRing && suffix != trace::suffix::kWhere) return;
        // A stem is HOST.PID.START.COUNTER, and HOST has no dots.
        unsigned pid = 0;
        unsigned long long start = 0;
        const size_t dot = stem.find('.');
        if (dot == std::string::npos || std::sscanf(stem.c_str() + dot, ".%u.%llu.", &pid, &start) != 2) return;
        visit(pid, start);
    });
}

// The newest change of an event file or of run.json in it; 0 if it holds no trace.
int64_t trace_time(const std::string& directory) {
    int64_t newest = 0;
    for_each_name(directory, [&](const files::path& path) {
        const std::string name = path.filename().string();
        if (!is_event_file(name) && name != "run.json") return;
        struct stat status {};
        if (stat(path.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) return;
        newest = std::max(newest, static_cast<int64_t>(status.st_mtim.tv_sec) * 1000000000 + status.st_mtim.tv_nsec);
    });
    return newest;
}

}  // namespace

std::string fresh_directory_name(const std::string& command, int pid) {
    std::string name;
    for (const char byte : files::path(command).filename().string()) {
        const bool plain = (byte >= '0' && byte <= '9') || (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z');
        name += plain || byte == '.' || byte == '_' ? byte : '-';
    }
    name = "vramtrace-" + name.substr(0, 64) + "-" + std::to_string(pid);
    std::string candidate = name;
    std::error_code ignored;
    for (int i = 2; files::exists(files::symlink_status(candidate, ignored)); ++i)
        candidate = name + "." + std::to_string(i);
    return candidate;
}

bool holds_trace(const std::string& directory) {
    return trace_time(directory) != 0;
}

bool holds_events(const std::string& directory) {
    bool found = false;
    for_each_name(directory, [&](const files::path& path) { found |= is_event_file(path.filename().string()); });
    return found;
}

namespace {

// True while a process that has a ring here lives: the collector is not merely waiting for one to come.
bool process_recorded(const std::string& directory) {
    bool lives = false;
    for_each_ring(directory,
                  [&](unsigned pid, unsigned long long start) { lives |= trace::start_time_of(pid) == start; });
    return lives;
}

// A collector stays for a moment when its last job is done. What it finished is finished: true once it has gone, false
// if a job came meanwhile, or it does not go.
bool collector_gone(const std::string& directory) {
    const auto until = std::chrono::steady_clock::now() + kCollectorLeaves;
    while (collector_at_work(directory)) {
        if (process_recorded(directory) || other_job_runs(directory)) return false;
        if (std::chrono::steady_clock::now() > until) return false;
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    return true;
}

}  // namespace

bool collector_at_work(const std::string& directory) {
    return trace::CollectorLock::held(directory, trace::this_machine());
}

bool waits_to_be_drained(const std::string& directory) {
    bool waits = false;
    for_each_ring(directory,
                  [&](unsigned pid, unsigned long long start) { waits |= trace::start_time_of(pid) != start; });
    return waits;
}

Failed prepare_directory(std::string& path, bool overwrite) {
    std::error_code error;
    const files::path absolute = files::absolute(path, error).lexically_normal();
    if (error || path.empty()) return {"'" + path + "' is no name for a directory"};
    path = absolute.string();
    if (path.size() > 1 && path.back() == '/') path.pop_back();
    if (files::path(path).has_parent_path()) files::create_directories(files::path(path).parent_path(), error);
    if (mkdir(path.c_str(), 0700) == 0) return {};
    if (errno != EEXIST) return {"cannot create the directory " + path + ": " + std::strerror(errno)};
    if (!files::is_directory(path, error)) return {path + " exists and is no directory"};
    if (access(path.c_str(), W_OK | X_OK) != 0)
        return {"cannot write to the directory " + path + ": " + std::strerror(errno)};
    if (!holds_events(path) || other_job_runs(path) || !collector_gone(path)) return {};
    if (!overwrite)
        return {path + " holds a trace already; name another directory, or add --overwrite to remove that trace"};
    for_each_name(path, [](const files::path& file) {
        struct stat status {};
        const bool plain = lstat(file.c_str(), &status) == 0 && S_ISREG(status.st_mode);
        if (plain && is_trace_file(file.filename().string())) unlink(file.c_str());
    });
    if (holds_events(path)) return {"cannot remove the trace in " + path};
    return {};
}

std::optional<std::string> trace_to_read(const std::string& named) {
    if (!named.empty()) return named;
    if (const char* directory = std::getenv("VRAMTRACE_DIR"); directory != nullptr && holds_events(directory))
        return directory;
    return std::nullopt;
}

}  // namespace vramtrace::cli
