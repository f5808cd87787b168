// SPDX-License-Identifier: Apache-2.0
#include <cctype>
#include <map>
#include <string>

#include "simulator/driver/call.h"

using namespace vramtrace::simulator;

namespace {

struct Text {
    const char* name;
    std::string description;
};

// CUDA_ERROR_OUT_OF_MEMORY -> "out of memory"
std::string describe(std::string name) {
    const std::string prefix = "CUDA_ERROR_";
    if (name.rfind(prefix, 0) != 0) {
        return "no error";
    }
    name.erase(0, prefix.size());
    for (char& letter : name) {
        letter = letter == '_' ? ' ' : static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
    }
    return name;
}

const std::map<int, Text>& texts() {
    static const auto* const table = new std::map<int, Text>{
#define RESULT(code) {code, {#code, describe(#code)}},
#include "simulator/driver/result_codes.def"
#undef RESULT
    };
    return *table;
}

CUresult find(CUresult error, const char** out, bool name) {
    require(out != nullptr);
    const auto found = texts().find(error);
    if (found == texts().end()) {
        *out = nullptr;
        return CUDA_ERROR_INVALID_VALUE;
    }
    *out = name ? found->second.name : found->second.description.c_str();
    return CUDA_SUCCESS;
}

}  // namespace

SIM_API_ALWAYS(cuGetErrorString, (CUresult error, const char** pStr), (error, pStr)) {
    return find(error, pStr, false);
}

SIM_API_ALWAYS(cuGetErrorName, (CUresult error, const char** pStr), (error, pStr)) {
    return find(error, pStr, true);
}
