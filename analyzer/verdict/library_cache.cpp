// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>

#include "analyzer/print/units.h"
#include "analyzer/verdict/rules.h"

namespace vramtrace::verdict {
namespace {

// Functions that make workspaces for a library of NVIDIA's on its behalf, as they stand in demangled names.
constexpr std::array<std::string_view, 7> kWorkspaceMakers = {
    "getNewWorkspace",       "getCurrentCUDABlasHandle", "getCUDABlasLtWorkspace", "CUDABlasWorkspace",
    "setWorkspaceForHandle", "cublas_workspace",         "cudnn_workspace"};

std::string library_of(const Candidate& candidate) {
    if (candidate.stack == nullptr || candidate.stack->missing) return "";
    if (!candidate.stack->inside.empty()) return candidate.stack->inside;
    for (const uint32_t frame : candidate.stack->recorded()) {
        const std::string& function = candidate.process->frames[frame].function;
        for (const std::string_view maker : kWorkspaceMakers) {
            if (function.find(maker) != std::string::npos) return "cuBLAS or cuDNN (" + std::string(maker) + ")";
        }
    }
    return "";
}

}  // namespace

// Growth was asked for before: what is left here does not grow with the iterations.
std::optional<Finding> library_cache(const Candidate& candidate) {
    if (!is_memory(candidate.quantity()) || candidate.left.count == 0) return std::nullopt;
    const std::string library = library_of(candidate);
    if (library.empty()) return std::nullopt;
    Finding finding = about(candidate, Class::LibraryCache);
    finding.weight = Weight::Note;
    finding.title = "library cache: " + print::bytes(candidate.left.bytes) + " kept by " + library + ", called at " +
                    candidate.place();
    finding.evidence.push_back(
        print::counted(candidate.left.count, "piece", "pieces") +
        ": such libraries keep a workspace for each handle, stream or thread until the handle is destroyed");
    if (candidate.iterations >= accounts::kLeastIterations) {
        finding.evidence.push_back("it did not grow over " +
                                   print::counted(candidate.iterations, "iteration", "iterations"));
    }
    return finding;
}

}  // namespace vramtrace::verdict
