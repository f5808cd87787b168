// SPDX-License-Identifier: Apache-2.0
#include "analyzer/cli/framework_detail.h"

namespace vramtrace::cli {

const std::vector<FrameworkDetail>& framework_details() {
    static const std::vector<FrameworkDetail> kDetails = {
        {"JAX",
         {{"XLA_PYTHON_CLIENT_ALLOCATOR", "cuda_async"}, {"XLA_PYTHON_CLIENT_PREALLOCATE", "false"}},
         "each buffer comes from the driver's pool instead of one arena of 75 % of the device: other timing, other "
         "fragmentation"},
        {"TensorFlow",
         {},
         "nothing to set: its blocks are recorded as they are (TF_GPU_ALLOCATOR=cuda_malloc_async makes each one a "
         "driver allocation where they are not)"},
        {"PyTorch", {}, "nothing to set: its blocks are recorded as they are"},
        {"CuPy",
         {},
         "no variable can do it: only the program can, by cupy.cuda.set_allocator(cupy.cuda.MemoryAsyncPool().malloc)"},
    };
    return kDetails;
}

std::vector<ChosenVariable> choose_framework_detail(const std::function<const char*(const char*)>& look_up) {
    std::vector<ChosenVariable> chosen;
    for (const FrameworkDetail& detail : framework_details()) {
        for (const SetVariable& variable : detail.variables) {
            const char* present = look_up(variable.name);
            const bool by_user = present != nullptr;
            chosen.push_back({detail.framework, variable.name, by_user ? present : variable.value, by_user});
        }
    }
    return chosen;
}

std::string detail_line(const ChosenVariable& variable) {
    return "for " + variable.framework + ": " + variable.name + "=" + variable.value +
           (variable.by_user ? ", as you have set it" : ", which changes how it allocates");
}

std::string framework_detail_help() {
    std::string text = "--framework-detail, by framework:\n";
    for (const FrameworkDetail& detail : framework_details()) {
        text += std::string("  ") + detail.framework + ": ";
        for (const SetVariable& variable : detail.variables)
            text += std::string(variable.name) + "=" + variable.value + " ";
        if (!detail.variables.empty()) text += "— ";
        text += std::string(detail.why) + "\n";
    }
    return text + "What is set already in the environment stays as it is.\n";
}

}  // namespace vramtrace::cli
