// SPDX-License-Identifier: Apache-2.0
#include <cstring>
#include <iostream>
#include <memory>

#include "analyzer/cli/commands.h"
#include "analyzer/cli/event_text.h"
#include "analyzer/cli/exit_codes.h"
#include "analyzer/cli/log.h"
#include "analyzer/cli/read_trace.h"
#include "analyzer/cli/trace_directory.h"
#include "analyzer/input/open_input.h"
#include "analyzer/print/json_writer.h"
#include "analyzer/print/printable.h"
#include "analyzer/print/units.h"
#include "analyzer/process_facts.h"
#include "analyzer/symbolize/module_files.h"

namespace vramtrace::cli {

namespace {

using Bytes = std::span<const std::byte>;
using print::JsonWriter;
using trace::DefinitionId;
using trace::DefinitionKind;

constexpr char kDumpHelp[] =
    R"(One line an event, as it was recorded, then the definitions that events name by number (docs/trace-format.md). Made for
looking into a trace that a report does not explain, and for bug reports.

Examples:
  vramtrace dump trace | grep CallFailed
  vramtrace dump --json trace | jq -c 'select(.kind == "DeviceAlloc" and .size > 1e9)')";

struct DumpOptions {
    std::string trace;
    bool json = false;
    bool definitions = true;
    uint32_t pid = 0;
};

const char* definition_text(DefinitionKind kind) {
    switch (kind) {
        case DefinitionKind::Stack:
            return "Stack";
        case DefinitionKind::Module:
            return "Module";
        case DefinitionKind::String:
            return "String";
        case DefinitionKind::Names:
            return "Names";
        case DefinitionKind::Device:
            return "Device";
        case DefinitionKind::Fact:
            return "Fact";
        case DefinitionKind::CodeObject:
            return "CodeObject";
        case DefinitionKind::Thread:
            return "Thread";
        case DefinitionKind::JoinedStack:
            return "JoinedStack";
        case DefinitionKind::None:
            break;
    }
    return "?";
}

std::string text_of(Bytes bytes) {
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

template <typename Body>
Bytes take(Bytes bytes, Body& body) {
    if (bytes.size() < sizeof body) return {};
    std::memcpy(&body, bytes.data(), sizeof body);
    return bytes.subspan(sizeof body);
}

std::vector<std::string> frames_of(Bytes body) {
    trace::StackBody head;
    Bytes rest = take(body, head);
    std::vector<std::string> frames;
    for (unsigned i = 0; i < head.frame_count && rest.size() >= sizeof(trace::Frame); ++i) {
        trace::Frame frame = 0;
        rest = take(rest, frame);
        frames.push_back("#" + std::to_string(trace::frame_module(frame)) + "+" +
                         print::hex(trace::frame_offset(frame)));
    }
    return frames;
}

struct CodeObject {
    trace::CodeObjectBody head;
    std::string file, name;
    Bytes table;
};

// Lengths that do not fit are cut: what is there is shown.
CodeObject code_object_of(Bytes body) {
    CodeObject code;
    Bytes rest = take(body, code.head);
    const auto part = [&](uint32_t bytes) {
        const Bytes got = rest.first(std::min<size_t>(bytes, rest.size()));
        rest = rest.subspan(got.size());
        return got;
    };
    code.file = text_of(part(code.head.file_bytes));
    code.name = text_of(part(code.head.name_bytes));
    code.table = part(code.head.table_bytes);
    return code;
}

const char* form_text(trace::LineTable form) {
    switch (form) {
        case trace::LineTable::Lnotab:
            return "lnotab";
        case trace::LineTable::Pep626:
            return "pep626";
        case trace::LineTable::Location:
            return "location";
        case trace::LineTable::None:
            break;
    }
    return "none";
}

std::string python_text(uint16_t version) {
    return std::to_string(version >> 8) + "." + std::to_string(version & 0xff);
}

std::string hex_digits(Bytes bytes) {
    constexpr char kDigits[] = "0123456789abcdef";
    std::string text;
    for (const std::byte byte : bytes) {
        text += kDigits[std::to_integer<unsigned>(byte) >> 4];
        text += kDigits[std::to_integer<unsigned>(byte) & 15];
    }
    return text;
}

// What a definition says, in one line.
std::string definition_line(DefinitionKind kind, Bytes body) {
    if (kind == DefinitionKind::Stack) {
        std::string text;
        for (const std::string& frame : frames_of(body)) text += (text.empty() ? "" : " ") + frame;
        return text;
    }
    if (kind == DefinitionKind::Module) {
        trace::ModuleBody head;
        const Bytes rest = take(body, head);
        const size_t id_bytes = std::min<size_t>(head.build_id_bytes, rest.size());
        return text_of(rest.subspan(id_bytes)) + " build-id " + symbolize::build_id_text(rest.data(), id_bytes) +
               " bias " + print::hex(head.bias) + " at " + print::hex(head.start) + "-" + print::hex(head.end) +
               " generation " + std::to_string(head.generation);
    }
    if (kind == DefinitionKind::CodeObject) {
        const CodeObject code = code_object_of(body);
        return code.name + " at " + code.file + ":" + std::to_string(code.head.first_line) + " Python " +
               python_text(code.head.python) + " " + form_text(code.head.form) + " table of " +
               std::to_string(code.table.size()) + " bytes";
    }
    if (kind == DefinitionKind::JoinedStack) {
        trace::JoinedStackBody head;
        take(body, head);
        return "native #" + std::to_string(head.native) + " python #" + std::to_string(head.python);
    }
    if (kind == DefinitionKind::Device) {
        trace::DeviceBody head;
        const Bytes rest = take(body, head);
        return std::to_string(head.ordinal) + " " + text_of(rest) + " " + print::exact_bytes(head.total_bytes);
    }
    if (kind == DefinitionKind::Thread) {
        trace::ThreadBody head;
        const Bytes rest = take(body, head);
        return std::to_string(head.thread) + " " + text_of(rest);
    }
    return text_of(body);
}

// Whose aux is a String definition.
bool names_text(trace::EventKind kind) {
    using Kind = trace::EventKind;
    return kind == Kind::RangeBegin || kind == Kind::Mark || kind == Kind::RecordingStopped || kind == Kind::Unhooked ||
           kind == Kind::BlindSpot;
}

class Dump {
public:
    Dump(const DumpOptions& options, const trace::ProcessIdentity& identity)
        : options_(options),
          identity_(identity),
          process_(std::to_string(identity.pid) + "." + std::to_string(identity.start_time) + "." +
                   std::to_string(identity.counter)) {}

    void event(const trace::Event& event, const std::vector<std::string>& names,
               const trace::DefinitionView& definitions) const {
        const std::string text =
            names_text(event.kind)
                ? text_of(definitions.body(static_cast<DefinitionId>(event.aux), DefinitionKind::String))
                : std::string();
        const auto name = [&](uint8_t index) { return index < names.size() ? names[index] : std::to_string(index); };
        if (options_.json) {
            JsonWriter json(std::cout, 0);
            json.object()
                .member("process", process_)
                .member("pid", identity_.pid)
                .member("ticket", event.sequence)
                .member("time_ns", event.time);
            json.member("kind", kind_text(event.kind)).member("address", event.address).member("size", event.size);
            json.member("object", event.object).member("aux", event.aux).member("stack", event.stack);
            json.member("thread", event.thread).member("device", static_cast<unsigned>(event.device));
            json.member("context", event.context).member("api", name(event.api)).member("label", name(event.label));
            json.member("result", event.result);
            if (names_text(event.kind)) json.member("text", text);
            json.end();
            std::cout << '\n';
            return;
        }
        std::cout << identity_.pid << ' ' << event.sequence << ' ' << print::instant(event.time) << ' '
                  << kind_text(event.kind);
        if (event.address != 0) std::cout << " address=" << print::hex(event.address);
        if (event.size != 0) std::cout << " size=" << event.size;
        if (event.object != 0) std::cout << " object=" << print::hex(event.object);
        if (event.aux != 0) std::cout << " aux=" << print::hex(event.aux);
        if (event.device != trace::kNoDevice) std::cout << " device=" << static_cast<unsigned>(event.device);
        std::cout << " context=" << event.context << " thread=" << event.thread << " stack=" << event.stack;
        if (event.api != 0) std::cout << " api=" << print::printable(name(event.api));
        if (event.label != 0) std::cout << " label=" << print::printable(name(event.label));
        if (event.result != 0) std::cout << " result=" << event.result;
        if (!text.empty()) std::cout << " text=" << print::printable(text);
        std::cout << '\n';
    }

    void definition(DefinitionId id, DefinitionKind kind, Bytes body) const {
        if (!options_.json) {
            std::cout << identity_.pid << " #" << id << ' ' << definition_text(kind) << ' '
                      << print::printable(definition_line(kind, body)) << '\n';
            return;
        }
        JsonWriter json(std::cout, 0);
        json.object()
            .member("process", process_)
            .member("pid", identity_.pid)
            .member("definition", id)
            .member("kind", definition_text(kind));
        if (kind == DefinitionKind::Stack) {
            json.key("frames").array();
            for (const std::string& frame : frames_of(body)) json.value(frame);
            json.end();
        } else if (kind == DefinitionKind::CodeObject) {
            const CodeObject code = code_object_of(body);
            json.member("file", code.file).member("name", code.name).member("first_line", code.head.first_line);
            json.member("python", python_text(code.head.python)).member("form", form_text(code.head.form));
            json.member("table", hex_digits(code.table));
        } else if (kind == DefinitionKind::JoinedStack) {
            trace::JoinedStackBody joined;
            take(body, joined);
            json.member("native", joined.native).member("python_stack", joined.python);
        } else {
            json.member("text", definition_line(kind, body));
        }
        json.end();
        std::cout << '\n';
    }

    void status(const trace::SourceStatus& status) const {
        for (const std::string& warning : status.warnings)
            spdlog::warn("process {}: {}", identity_.pid, print::printable(warning));
        ProcessAnalysis counted;
        counted.status = status;
        if (const uint64_t lost = counted.lost_events(); lost != 0)
            spdlog::warn("process {}: {} events lost", identity_.pid, lost);
    }

private:
    const DumpOptions& options_;
    const trace::ProcessIdentity& identity_;
    const std::string process_;  // PID.START.COUNTER: differs for what one pid became by exec in place
};

int dump(const DumpOptions& options) {
    const input::Input opened = input::open_input(existing_trace(trace_to_read(options.trace)));
    for (const std::string& warning : opened.warnings) spdlog::warn("{}", warning);
    bool any = false;
    for (const input::ProcessInput& process : opened.processes) {
        if (options.pid != 0 && process.identity.pid != options.pid) continue;
        any = true;
        const auto source = process.open();
        const Dump writer(options, process.identity);
        std::vector<trace::Event> batch;
        std::vector<std::string> names;
        while (source->next_batch(batch) && std::cout) {
            if (names.empty()) names = read_names(source->definitions());
            for (const trace::Event& event : batch) writer.event(event, names, source->definitions());
        }
        if (options.definitions) {
            source->definitions().for_each(
                [&](DefinitionId id, DefinitionKind kind, Bytes body) { writer.definition(id, kind, body); });
        }
        writer.status(source->status());
    }
    if (!any) spdlog::error("{} has no process {}", opened.path, options.pid);
    return any ? kGood : kNoTrace;
}

}  // namespace

void add_dump(CLI::App& program, Chosen& chosen) {
    CLI::App* command = program.add_subcommand("dump", "Print every event and definition of a trace");
    auto options = std::make_shared<DumpOptions>();
    command->footer(kDumpHelp);
    command
        ->add_option("trace", options->trace, "Trace directory, or one process's file in it (default: the newest here)")
        ->type_name("TRACE");
    command->add_flag("--json", options->json, "JSON Lines");
    command->add_flag("!--no-definitions", options->definitions, "Events only");
    command->add_option("--pid", options->pid, "Only this process")->type_name("PID");
    command->callback([options, &chosen] { chosen.action = [options] { return dump(*options); }; });
}

}  // namespace vramtrace::cli
