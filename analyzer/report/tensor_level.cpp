// SPDX-License-Identifier: Apache-2.0
#include "analyzer/report/tensor_level.h"

#include <algorithm>
#include <string_view>

#include "analyzer/print/units.h"

namespace vramtrace::report {
namespace {

using accounts::Kind;
using accounts::Quantity;

bool begins(std::string_view text, std::string_view with) {
    return text.substr(0, with.size()) == with;
}

bool has_setting(const ProcessAnalysis& process, std::string_view word) {
    const auto& settings = process.facts.allocator_settings;
    return std::any_of(settings.begin(), settings.end(),
                       [&](const std::string& setting) { return setting.find(word) != std::string::npos; });
}

// Driver memory that a framework's own library asked for, by the modules in its call stacks.
struct DriverMemory {
    uint64_t pool = 0, other = 0;  // allocations
    bool pluggable = false;
};

DriverMemory allocated_by(const ProcessAnalysis& process, std::initializer_list<std::string_view> modules) {
    DriverMemory sum;
    std::vector<bool> in_library(process.frames.size());
    std::vector<bool> pluggable(process.frames.size());
    for (size_t i = 0; i < process.frames.size(); ++i) {
        const std::string module = process.frames[i].module_name();
        in_library[i] = std::any_of(modules.begin(), modules.end(), [&](auto name) { return begins(module, name); });
        pluggable[i] = process.frames[i].function.find("CUDAPluggableAllocator") != std::string::npos;
    }
    for (const accounts::Site& site : process.accounts.sites) {
        const bool memory = site.key.kind == Kind::DeviceMemory || site.key.kind == Kind::Physical;
        if (site.allocated.count == 0 || (!memory && site.key.kind != Kind::PoolMemory)) continue;
        bool by_framework = false;
        for (const uint32_t frame : process.stack(site.key.stack).recorded()) {
            by_framework = by_framework || in_library[frame];
            sum.pluggable = sum.pluggable || pluggable[frame];
        }
        if (by_framework) (memory ? sum.other : sum.pool) += site.allocated.count;
    }
    return sum;
}

std::string pytorch_without_blocks(const ProcessAnalysis& process) {
    const DriverMemory memory = allocated_by(process, {"libc10_cuda.so", "libtorch_cuda.so"});
    const auto& totals = process.accounts.totals;
    const bool any = std::any_of(totals.begin(), totals.end(), [](const accounts::Total& total) {
        return total.quantity == Quantity::Device && total.allocated.count != 0;
    });
    const auto& frameworks = process.facts.frameworks;
    const bool loaded = std::any_of(frameworks.begin(), frameworks.end(),
                                    [](const std::string& name) { return begins(name, "PyTorch"); });
    if (memory.pool > 0 || (loaded && any && has_setting(process, "cudaMallocAsync"))) {
        return "the tensor level comes from cudaMallocAsync calls: this back end of PyTorch tells of no blocks of its "
               "own";
    }
    if (loaded && any && has_setting(process, "PYTORCH_NO_CUDA_MEMORY_CACHING=")) {
        return "the tensor level comes from cudaMalloc calls: PyTorch's caching is switched off, each call is a tensor";
    }
    if (memory.pluggable) {
        return "the tensor level comes from the calls of a pluggable allocator: it tells PyTorch of no blocks";
    }
    if (memory.other == 0) return {};
    return "framework hook inactive: PyTorch took " + print::counted(memory.other, "segment", "segments") +
           " from the driver and told of no tensor in them; what follows is its cache, not its tensors";
}

std::string tensorflow_without_blocks(const ProcessAnalysis& process) {
    const DriverMemory memory = allocated_by(process, {"libtensorflow", "_pywrap_tensorflow"});
    if (memory.pool > 0) return "the tensor level comes from cudaMallocAsync calls of TensorFlow";
    if (memory.other == 0) return {};
    return "framework hook inactive: TensorFlow took " + print::counted(memory.other, "region", "regions") +
           " from the driver and told of no tensor in them; what follows is its regions, not its tensors";
}

}  // namespace

void add_tensor_level(ProcessReport& report) {
    const ProcessAnalysis& process = *report.process;
    TensorReport& tensors = report.tensors;
    tensors.host_total = process.accounts.total(trace::kNoDevice, Quantity::HostBlock);
    bool said = false;
    bool placed = false;
    for (const accounts::BlockTable& table : process.accounts.blocks) {
        if (table.device == trace::kNoDevice) tensors.host_blocks = &table;
        if (table.all.allocated.count.gained == 0) continue;
        tensors.any = true;
        (table.state.device_said ? said : placed) = true;
    }
    if (said) tensors.level = "the tensor level comes from PyTorch's caching allocator: every block that it hands out";
    if (placed) {
        if (said) tensors.level += "; and ";
        tensors.level +=
            said ? "from TensorFlow's BFC allocators"
                 : "the tensor level comes from TensorFlow's BFC allocators: every block that they hand out";
    }
    if (tensors.level.empty()) tensors.level = pytorch_without_blocks(process);
    if (tensors.level.empty()) tensors.level = tensorflow_without_blocks(process);
}

}  // namespace vramtrace::report
