// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <unistd.h>

#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include "analyzer/analysis.h"
#include "analyzer/symbolize/names_file.h"
#include "tests/support/catch.h"
#include "tests/support/event_builder.h"
#include "tests/support/scratch_directory.h"
#include "tests/support/vector_source.h"

// A small training program, told event by event, with names as if its binaries were at hand.
namespace vramtrace::test {

inline std::string bytes_of(const void* data, size_t length) {
    return {static_cast<const char*>(data), length};
}

class ReportTrace {
public:
    using Kind = trace::EventKind;
    enum Name : uint8_t { kMemAlloc = 1, kMemFree, kMalloc, kHostAlloc, kStreamCreate, kModuleLoad, kAddressReserve };

    ReportTrace() {
        app_ = module("/home/me/train", "aa11");
        cudart_ = module("/usr/lib/libcudart.so.13", "bb22");
        cublas_ = module("/usr/lib/libcublas.so.13", "cc33");
        load_ = stack({{cudart_, 0x10}, {app_, 0x100}, {app_, 0x400}});
        step_ = stack({{cudart_, 0x10}, {app_, 0x200}, {app_, 0x400}});
        workspace_ = stack({{cudart_, 0x10}, {cublas_, 0x20}, {app_, 0x300}, {app_, 0x400}});
        bare_ = stack({{app_, 0x999}});
    }

    trace::DefinitionId module(const std::string& path, const std::string& build_id_hex) {
        trace::ModuleBody body;
        std::string id;
        for (size_t i = 0; i < build_id_hex.size(); i += 2) {
            id += static_cast<char>(std::stoi(build_id_hex.substr(i, 2), nullptr, 16));
        }
        body.build_id_bytes = static_cast<uint16_t>(id.size());
        body.path_bytes = static_cast<uint32_t>(path.size());
        definitions_.push_back({trace::DefinitionKind::Module, bytes_of(&body, sizeof body) + id + path});
        return static_cast<trace::DefinitionId>(definitions_.size());
    }
    uint32_t stack(const std::vector<std::pair<trace::DefinitionId, uint64_t>>& frames, uint16_t flags = 0) {
        trace::StackBody body;
        body.frame_count = static_cast<uint16_t>(frames.size());
        body.flags = flags;
        std::string text = bytes_of(&body, sizeof body);
        for (const auto& [id, offset] : frames) {
            const trace::Frame frame = trace::make_frame(id, offset);
            text += bytes_of(&frame, sizeof frame);
        }
        definitions_.push_back({trace::DefinitionKind::Stack, text});
        return static_cast<uint32_t>(definitions_.size());
    }
    trace::DefinitionId code(const std::string& file, const std::string& name, uint32_t first_line,
                             const std::string& lnotab) {
        trace::CodeObjectBody body;
        body.first_line = first_line;
        body.form = trace::LineTable::Lnotab;
        body.file_bytes = static_cast<uint32_t>(file.size());
        body.name_bytes = static_cast<uint32_t>(name.size());
        body.table_bytes = static_cast<uint32_t>(lnotab.size());
        definitions_.push_back(
            {trace::DefinitionKind::CodeObject, bytes_of(&body, sizeof body) + file + name + lnotab});
        return static_cast<trace::DefinitionId>(definitions_.size());
    }
    uint32_t joined(trace::DefinitionId native, trace::DefinitionId python) {
        const trace::JoinedStackBody body{native, python};
        definitions_.push_back({trace::DefinitionKind::JoinedStack, bytes_of(&body, sizeof body)});
        return static_cast<uint32_t>(definitions_.size());
    }
    trace::DefinitionId text(const std::string& content) {
        definitions_.push_back({trace::DefinitionKind::String, content});
        return static_cast<trace::DefinitionId>(definitions_.size());
    }
    void fact(const std::string& key, const std::string& value) {
        definitions_.push_back({trace::DefinitionKind::Fact, key + '\0' + value});
    }

    // The standard story: two weights leaked, activations freed, a cuBLAS workspace at the peak, one refused request.
    void standard_events() {
        job.thread(4711).device(0);
        job.stack(load_).label(kMalloc).api(kMemAlloc);
        job.device_alloc(0x10000000, 1 << 20);
        job.device_alloc(0x20000000, 3 << 20);
        job.stack(workspace_);
        job.device_alloc(0x30000000, 32 << 20);
        for (int i = 0; i < 20; ++i) {
            job.stack(step_).api(kMemAlloc);
            job.device_alloc(0x40000000, 64 << 20);
            job.wait(1000000).api(kMemFree);
            job.device_free(0x40000000);
        }
        job.stack(step_).api(kMemAlloc);
        job.call_failed(Kind::DeviceAlloc, 1ULL << 40);
        job.stack(workspace_).api(kMemFree).device_free(0x30000000);
        job.thread(4712).stack(bare_).label(0).api(kHostAlloc).host_alloc(0x7000, 4096);
        job.stack(load_).api(kStreamCreate).label(0);
        job.object(Kind::StreamCreate, 0x51);
        job.api(kAddressReserve).address(Kind::AddressReserve, 0x900000000, 1 << 30);
        job.api(0).memory_info(70ULL << 30, 80ULL << 30);
    }

    VectorSource source() const {
        VectorSource made(job.events());
        for (const auto& [kind, body] : definitions_) made.edit_definitions().add(kind, std::string_view(body));
        static constexpr char kNames[] =
            "\0cuMemAlloc_v2\0cuMemFree_"
            "v2\0cudaMalloc\0cuMemHostAlloc\0cuStreamCreate\0cuModuleLoad\0cuMemAddressReserve\0";
        made.edit_definitions().add(trace::DefinitionKind::Names, std::string_view(kNames, sizeof kNames - 1));
        trace::DeviceBody device;
        device.name_bytes = 5;
        device.total_bytes = 80ULL << 30;
        made.edit_definitions().add(trace::DefinitionKind::Device, device, "GPU-A");
        made.edit_status() = status;
        return made;
    }

    Analysis analysis(ShownFrames shown = ShownFrames::Merged) {
        VectorSource made = source();
        symbolize::Symbolizer symbolizer;
        std::string why;
        const ScratchDirectory scratch;
        const std::string kept = scratch.file("symbols.json");
        symbolize::NamesByModule known = names();
        known.insert(more_names.begin(), more_names.end());
        REQUIRE(symbolize::write_names(kept, known, why));
        REQUIRE(symbolizer.load(kept, why));
        ProcessReading reading(made, symbolizer, {}, {at, std::nullopt});
        Analysis analysis;
        analysis.path = "vramtrace-train-4711";
        analysis.processes.push_back(std::move(reading).named(symbolizer, shown));
        analysis.processes[0].end = end;
        if (analysis.processes[0].cut_at) analysis.processes[0].end = ProcessEnd::then(*analysis.processes[0].cut_at);
        return analysis;
    }

    static symbolize::NamesByModule names() {
        symbolize::NamesByModule names;
        auto& app = names[{"/home/me/train", "aa11"}].addresses;
        app[0x100] = {{"Tensor::empty(unsigned long)", "/home/me/tensor.h", 12, true},
                      {"load_weights(Model&)", "/home/me/model.cpp", 33, false}};
        app[0x200] = {{"step(Model&)", "/home/me/train.cpp", 50, false}};
        app[0x300] = {{"matmul\x1b[2J()", "/home/me/train.cpp", 61, false}};
        app[0x400] = {{"main", "/home/me/train.cpp", 80, false}};
        app[0x999] = {};
        names[{"/usr/lib/libcudart.so.13", "bb22"}].addresses[0x10] = {{"cudaMalloc", "", 0, false}};
        names[{"/usr/lib/libcublas.so.13", "cc33"}].addresses[0x20] = {{"cublasCreate_v2", "", 0, false}};
        return names;
    }

    EventBuilder job;
    symbolize::NamesByModule more_names;
    trace::SourceStatus status = [] {
        trace::SourceStatus made;
        made.identity.pid = 4711;
        std::strcpy(made.identity.host, "node1");
        made.identity.open_monotonic = 1'000'000;
        return made;
    }();
    ProcessEnd end = [] {
        ProcessEnd made;
        made.how = trace::SourceStatus::End::Exited;
        made.value = 0;
        return made;
    }();
    uint32_t load_, step_, workspace_, bare_;
    trace::DefinitionId app_, cudart_, cublas_;
    std::optional<uint64_t> at;  // ns since the start

private:
    std::vector<std::pair<trace::DefinitionKind, std::string>> definitions_;
};

}  // namespace vramtrace::test
