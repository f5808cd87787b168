// SPDX-License-Identifier: Apache-2.0
#include "analyzer/input/open_input.h"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <string_view>
#include <tuple>

#include "trace/container/block_file.h"
#include "trace/container/format_check.h"
#include "trace/container/input_error.h"
#include "trace/trace_name.h"

namespace vramtrace::input {

using namespace trace;
namespace fs = std::filesystem;

namespace {

// Splits "STEM.suffix"; an empty stem if the name is none of a process's files.
std::pair<std::string, std::string> split(const std::string& name) {
    const char* suffix = nullptr;
    const size_t length = stem_length(name.c_str(), &suffix);
    if (length == 0) return {};
    return {name.substr(0, length), suffix};
}

// Where the ring lies, as STEM.where says; beside it if that cannot be read.
std::string prefix_of(const std::string& directory, const std::string& stem) {
    std::vector<char> buffer(kMaxPath);
    const size_t length = ring_prefix(directory.c_str(), stem.c_str(), buffer.data(), buffer.size());
    return length != 0 ? std::string(buffer.data(), length) : directory + "/" + stem;
}

bool is_there(const std::string& path) {
    std::error_code ignored;
    return fs::exists(fs::symlink_status(path, ignored));
}

// Why a process that has a file here has neither container nor ring; empty: both were just completed and removed.
std::string nothing_of(const std::string& directory, const std::string& stem) {
    const std::string where = directory + "/" + stem + suffix::kWhere;
    if (!is_there(where)) return {};
    std::vector<char> buffer(kMaxPath);
    if (ring_prefix(directory.c_str(), stem.c_str(), buffer.data(), buffer.size()) == 0) {
        return where + " does not say where the ring of this process lies.";
    }
    return "The ring that " + where + " names (" + buffer.data() + suffix::kRing +
           ") is not there, or lies on another machine, and nothing of it was written here yet.";
}

// The identity from whichever file can give it.
ProcessIdentity identity_of(const ProcessFiles& files) {
    std::string problem;
    if (!files.container.empty()) {
        try {
            const BlockFile container(files.container, BlockFile::Payloads::HeadersOnly);
            if (!container.header_damaged() || files.ring_prefix.empty()) return container.header().identity;
        } catch (const InputError& error) {
            problem = error.what();
        }
    }
    if (!files.ring_prefix.empty()) {
        const std::string path = files.ring_prefix + suffix::kRing;
        MappedFile ring;
        const OpenError error = open_ring_segment(path.c_str(), FileMode::ReadOnly, ring);
        if (error == OpenError::None) return segment_view(ring).header->identity;
        // Of a container that is not there the ring says more than that it is not.
        const bool no_container = !is_there(files.container);
        if (no_container || problem.empty() || (error != OpenError::NotFound && error != OpenError::NotReady)) {
            problem = path + " " + open_error_text(error) + ".";
        }
    }
    throw InputError(problem);
}

ProcessFiles files_of(const std::string& directory, const std::string& stem) {
    ProcessFiles files;
    files.directory = directory;
    const std::string container = directory + "/" + stem + suffix::kContainer;
    const std::string prefix = prefix_of(directory, stem);
    if (is_there(prefix + suffix::kRing)) files.ring_prefix = prefix;
    // A container that appears while we read is found if the ring is there now, and a ring that goes is looked for.
    if (is_there(container) || !files.ring_prefix.empty()) files.container = container;
    return files;
}

// run.json, and who was followed by whom: known only once all processes are.
void complete(Input& input, const std::string& directory) {
    std::string warning;
    const auto run = read_run_record(directory, warning);
    if (!warning.empty()) input.warnings.push_back(warning);
    std::sort(input.processes.begin(), input.processes.end(), [](const ProcessInput& a, const ProcessInput& b) {
        return std::tie(a.identity.open_realtime, a.identity.pid, a.identity.counter) <
               std::tie(b.identity.open_realtime, b.identity.pid, b.identity.counter);
    });
    for (ProcessInput& process : input.processes) {
        process.files.run = run;
        process.files.followed_by_exec =
            std::any_of(input.processes.begin(), input.processes.end(), [&](const ProcessInput& other) {
                return other.identity.pid == process.identity.pid &&
                       other.identity.start_time == process.identity.start_time &&
                       std::strncmp(other.identity.boot_id, process.identity.boot_id, sizeof(other.identity.boot_id)) ==
                           0 &&
                       other.identity.counter > process.identity.counter;
            });
    }
}

std::vector<std::string> stems_in(const std::string& directory) {
    std::vector<std::string> stems;
    std::error_code error;
    for (fs::directory_iterator entry(directory, error), end; !error && entry != end; entry.increment(error)) {
        const auto [stem, suffix] = split(entry->path().filename().string());
        // Definitions or later segments alone are left over from a process whose container is complete.
        if (suffix == suffix::kContainer || suffix == suffix::kRing || suffix == suffix::kWhere) stems.push_back(stem);
    }
    std::sort(stems.begin(), stems.end());
    stems.erase(std::unique(stems.begin(), stems.end()), stems.end());
    return stems;
}

Input open_directory(const std::string& directory) {
    Input input;
    input.path = directory;
    for (const std::string& stem : stems_in(directory)) {
        ProcessInput process;
        process.files = files_of(directory, stem);
        if (process.files.container.empty()) {
            const std::string why = nothing_of(directory, stem);
            if (!why.empty()) input.warnings.push_back(why);
            continue;
        }
        try {
            process.identity = identity_of(process.files);
            input.processes.push_back(std::move(process));
        } catch (const InputError& error) {
            input.warnings.emplace_back(error.what());
        }
    }
    if (input.processes.empty()) {
        if (input.warnings.empty()) throw InputError(directory + " holds no trace of any process.");
        throw InputError(input.warnings.front());
    }
    complete(input, directory);
    return input;
}

std::string first_bytes(const std::string& path) {
    std::ifstream in(path, std::ios::binary);
    std::string bytes(sizeof(FormatHeader), '\0');
    in.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    bytes.resize(static_cast<size_t>(in.gcount()));
    return bytes;
}

Input open_file(const std::string& path) {
    const fs::path file(path);
    const std::string directory = file.has_parent_path() ? file.parent_path().string() : ".";
    const auto [stem, suffix] = split(file.filename().string());
    const std::string front = first_bytes(path);
    const auto begins = [&](const char(&magic)[8]) {
        return front.compare(0, sizeof(magic), magic, sizeof(magic)) == 0;
    };
    ProcessInput process;
    if (!stem.empty()) process.files = files_of(directory, stem);
    if (begins(kContainerMagic) || suffix == suffix::kContainer) {
        process.files.directory = directory;
        process.files.container = path;
    } else if (begins(kRingMagic) || begins(kDefinitionMagic)) {
        if (process.files.ring_prefix.empty() && process.files.container.empty()) {
            throw InputError(path + " is a part of a process's ring; name the directory it lies in, or its STEM" +
                             suffix::kRing + ".");
        }
    } else {
        check_format(path, std::as_bytes(std::span(front)), kContainerMagic, sizeof(ContainerHeader));
    }
    process.identity = identity_of(process.files);
    Input input;
    input.path = path;
    input.processes.push_back(std::move(process));
    complete(input, directory);
    return input;
}

}  // namespace

std::optional<std::string> newest_trace(const std::string& directory) {
    std::optional<std::string> newest;
    fs::file_time_type newest_time = fs::file_time_type::min();
    std::error_code error;
    for (fs::directory_iterator entry(directory, error), end; !error && entry != end; entry.increment(error)) {
        std::error_code ignored;
        const std::string name = entry->path().filename().string();
        if (name.compare(0, 10, "vramtrace-") != 0 || !entry->is_directory(ignored)) continue;
        const std::string candidate = directory == "." ? name : entry->path().string();
        for (const std::string& stem : stems_in(candidate)) {
            const ProcessFiles files = files_of(candidate, stem);
            for (const std::string& file : {files.container, files.ring_prefix + suffix::kRing}) {
                const auto time = fs::last_write_time(file, ignored);
                if (ignored || time < newest_time) continue;
                newest_time = time;
                newest = candidate;
            }
        }
    }
    return newest;
}

Input open_input(const std::optional<std::string>& path) {
    if (!path) {
        const auto newest = newest_trace(".");
        if (!newest) {
            throw InputError(
                "No trace lies here (vramtrace-*/): name a trace directory or file, or record one with "
                "`vramtrace run -- COMMAND`.");
        }
        return open_directory(*newest);
    }
    std::error_code error;
    const fs::file_status status = fs::status(*path, error);
    if (!fs::exists(status)) throw InputError(*path + " does not exist.");
    if (fs::is_directory(status)) return open_directory(*path);
    if (!fs::is_regular_file(status)) throw InputError(*path + " is neither a file nor a directory.");
    return open_file(*path);
}

}  // namespace vramtrace::input
