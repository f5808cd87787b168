// SPDX-License-Identifier: Apache-2.0
#include "analyzer/process_facts.h"

#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>

#include "analyzer/print/units.h"
#include "analyzer/symbolize/module_files.h"
#include "analyzer/symbolize/vendor_libraries.h"

namespace vramtrace {

namespace {

using Bytes = std::span<const std::byte>;
using End = trace::SourceStatus::End;

template <typename Body>
bool read_body(Bytes& bytes, Body& body) {
    if (bytes.size() < sizeof body) return false;
    std::memcpy(&body, bytes.data(), sizeof body);
    bytes = bytes.subspan(sizeof body);
    return true;
}

std::string text_of(Bytes bytes, size_t length = SIZE_MAX) {
    return {reinterpret_cast<const char*>(bytes.data()), std::min(length, bytes.size())};
}

std::vector<std::string> split_at_nul(const std::string& text) {
    std::vector<std::string> parts;
    for (size_t start = 0; start < text.size();) {
        const size_t end = std::min(text.find('\0', start), text.size());
        parts.push_back(text.substr(start, end - start));
        start = end + 1;
    }
    return parts;
}

// "13000" → "13.0", as cuDriverGetVersion counts: 1000·major + 10·minor.
std::string version_text(const std::string& number) {
    const unsigned long value = std::strtoul(number.c_str(), nullptr, 10);
    if (value == 0) return number;
    return std::to_string(value / 1000) + "." + std::to_string(value % 1000 / 10);
}

void take_fact(ProcessFacts& facts, const std::string& key, const std::string& value) {
    if (key == trace::fact::kCommand) facts.command = split_at_nul(value);
    if (key == trace::fact::kExecutable) facts.executable = value;
    if (key == trace::fact::kWorkingDirectory) facts.directory = value;
    if (key == trace::fact::kDriverVersion) facts.driver_version = version_text(value);
    if (key == trace::fact::kDriverPath) facts.driver_path = value;
    if (key == trace::fact::kShimVersion) facts.shim_version = value;
    if (key == trace::fact::kSettings) facts.settings = split_at_nul(value);
    if (key == trace::fact::kUnloadable) facts.no_collector = value;
    if (key == trace::fact::kNvtx) facts.other_nvtx_tool = value;
    if (key == trace::fact::kCudart) facts.runtimes.push_back(value);
    if (key == trace::fact::kFramework) facts.frameworks.push_back(value);
    if (key == trace::fact::kFrameworkPath) facts.framework_paths.push_back(value);
    if (key == trace::fact::kAllocator) facts.allocator_settings.push_back(value);
    if (key == trace::fact::kPython) facts.python = value;
    if (key == trace::fact::kPythonFrames) facts.python_frames = value;
}

template <typename Value>
std::optional<Value> number(const nlohmann::json& object, const char* key) {
    const auto found = object.find(key);
    if (found == object.end() || !found->is_number_integer()) return std::nullopt;
    return found->get<Value>();
}

std::string text_or_nothing(const nlohmann::json& object, const char* key) {
    const auto found = object.find(key);
    return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

std::vector<DetailVariable> read_detail(const nlohmann::json& document) {
    std::vector<DetailVariable> variables;
    const auto list = document.find("framework_detail");
    if (list == document.end() || !list->is_array()) return variables;
    for (const nlohmann::json& entry : *list) {
        if (!entry.is_object()) continue;
        const auto by_user = entry.find("by_user");
        variables.push_back({text_or_nothing(entry, "framework"), text_or_nothing(entry, "name"),
                             text_or_nothing(entry, "value"),
                             by_user != entry.end() && by_user->is_boolean() && by_user->get<bool>()});
    }
    return variables;
}

}  // namespace

std::string ProcessFacts::title() const {
    if (command.empty()) return executable.empty() ? "unknown program" : std::string(symbolize::file_name(executable));
    std::string title(symbolize::file_name(command[0]));
    // An interpreter's name says nothing: the script does.
    const bool interpreter = title.rfind("python", 0) == 0 || title == "bash" || title == "sh";
    for (size_t i = 1; interpreter && i < command.size(); ++i) {
        const bool module = command[i] == "-m" && i + 1 < command.size();
        if (module) return title + " -m " + command[i + 1];
        if (command[i].empty() || command[i][0] == '-') continue;
        return title + " " + std::string(symbolize::file_name(command[i]));
    }
    return title;
}

ProcessFacts read_facts(const trace::DefinitionView& definitions) {
    ProcessFacts facts;
    definitions.for_each([&](trace::DefinitionId, trace::DefinitionKind kind, Bytes body) {
        if (kind == trace::DefinitionKind::Fact) {
            const std::string text = text_of(body);
            const size_t end = text.find('\0');
            if (end != std::string::npos) take_fact(facts, text.substr(0, end), text.substr(end + 1));
        }
        if (kind == trace::DefinitionKind::Device) {
            trace::DeviceBody device;
            if (!read_body(body, device) || device.ordinal >= trace::kNoDevice) return;
            DeviceFacts& known = facts.devices[static_cast<uint8_t>(device.ordinal)];
            known.name = text_of(body, device.name_bytes);
            known.total_bytes = device.total_bytes;
            known.uuid = symbolize::build_id_text(device.uuid, sizeof device.uuid);
        }
        if (kind == trace::DefinitionKind::Thread) {
            trace::ThreadBody thread;
            if (read_body(body, thread)) facts.thread_names[thread.thread] = text_of(body, thread.name_bytes);
        }
    });
    for (const auto& [ordinal, device] : facts.devices) {
        facts.simulated |= device.name.find("imulated") != std::string::npos;
    }
    return facts;
}

std::vector<std::string> read_names(const trace::DefinitionView& definitions) {
    std::vector<std::string> names;
    definitions.for_each([&](trace::DefinitionId, trace::DefinitionKind kind, Bytes body) {
        if (kind == trace::DefinitionKind::Names && names.empty()) names = split_at_nul(text_of(body));
    });
    return names;
}

std::optional<RunDetails> read_run_details(const std::string& directory) {
    std::ifstream in(directory + "/run.json", std::ios::binary);
    const auto document = in ? nlohmann::json::parse(in, nullptr, false) : nlohmann::json();
    if (!document.is_object()) return std::nullopt;
    RunDetails details;
    details.pid = static_cast<uint32_t>(number<int64_t>(document, "pid").value_or(0));
    details.start_time = number<uint64_t>(document, "start_time").value_or(0);
    if (const auto dumped = document.find("core_dumped"); dumped != document.end() && dumped->is_boolean()) {
        details.core_dumped = *dumped;
    }
    details.max_rss_bytes = number<uint64_t>(document, "max_rss_bytes");
    details.framework_detail = read_detail(document);
    return details;
}

ProcessEnd process_end(const trace::SourceStatus& status, const std::optional<RunDetails>& run) {
    ProcessEnd end;
    end.how = status.running ? End::Running : status.end;
    end.value = status.end_value;
    end.time = status.end_time;
    const bool own = run && run->pid == status.identity.pid && run->start_time == status.identity.start_time;
    if (!own || status.running || end.how == End::Exec) return end;
    end.core_dumped = run->core_dumped;
    end.max_rss_bytes = run->max_rss_bytes;
    return end;
}

ProcessEnd ProcessEnd::then(uint64_t at) {
    ProcessEnd end;
    end.how = End::Running;
    end.at = at;
    return end;
}

std::string ProcessEnd::sentence() const {
    switch (how) {
        case End::Running:
            if (at) return "is shown as it was " + print::instant(*at) + " after the start";
            return "still running";
        case End::Exited:
            return value < 0 ? "exited, code not known" : "exited with code " + std::to_string(value);
        case End::Signalled: {
            if (value < 0) return "killed by a signal";
            const char* name = sigabbrev_np(value);
            return "killed by signal " + std::to_string(value) +
                   (name != nullptr ? std::string(" (SIG") + name + ")" : "") + (core_dumped ? ", core dumped" : "");
        }
        case End::Exec:
            return "replaced itself by another program (exec)";
        case End::Vanished:
            return "is gone; how it ended could not be seen";
        case End::Unknown:
            break;
    }
    return "how it ended is not known";
}

}  // namespace vramtrace
