// SPDX-License-Identifier: Apache-2.0
// Resolves a name to the newest ABI that the asked CUDA version knows. Measured rules of the real driver:
//   unknown name, or a name with its suffix     code 0, NULL, status 1    (four-argument ABI: 500, pointer untouched)
//   name known, but younger than the version    code 0, NULL, status 2    (likewise)
//   version above the driver, unknown flags     code 1, pointer untouched
//   flags 2 (per-thread default stream)         the _ptsz/_ptds symbol if the name has one, else the only one there is
#include <cstring>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "simulator/driver/call.h"

namespace vramtrace::simulator {
namespace {

// Taking an address from the header would need 637 prototypes; here only the names matter.
struct Candidate {
    Function function;
    void* address;
};

struct Answers {
    std::vector<Candidate> legacy;
    std::vector<Candidate> per_thread;
};

struct Answer {
    void* address;
    CUdriverProcAddressQueryResult status;
};

const std::unordered_map<std::string_view, Answers>& answers_by_name() {
    static const auto* const table = [] {
        auto* names = new std::unordered_map<std::string_view, Answers>;
        for (size_t i = 0; i < kFunctionCount; ++i) {
            const auto function = static_cast<Function>(i);
            const FunctionInfo& info = info_of(function);
            Answers& answers = (*names)[info.base];
            (info.stream == DefaultStream::kPerThread ? answers.per_thread : answers.legacy)
                .push_back({function, address_of(function)});
        }
        return names;
    }();
    return *table;
}

Answer resolve(const char* symbol, int version, bool per_thread) {
    const auto found = answers_by_name().find(symbol);
    if (found == answers_by_name().end()) {
        return {nullptr, CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND};
    }
    const Answers& answers = found->second;
    const bool twins = per_thread && !answers.per_thread.empty();
    Answer best = {nullptr, CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT};
    int best_since = -1;
    for (const Candidate& candidate : twins ? answers.per_thread : answers.legacy) {
        const int since = info_of(candidate.function).since;
        if (since <= version && since > best_since) {
            best = {candidate.address, CU_GET_PROC_ADDRESS_SUCCESS};
            best_since = since;
        }
    }
    return best;
}

constexpr cuuint64_t kKnownFlags = CU_GET_PROC_ADDRESS_LEGACY_STREAM | CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM;

Answer look_up(const char* symbol, int version, cuuint64_t flags) {
    require(symbol != nullptr);
    require(version <= Machine::get().settings.driver_version);
    require((flags & ~kKnownFlags) == 0 && flags != kKnownFlags);
    return resolve(symbol, version, flags == CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM);
}

}  // namespace
}  // namespace vramtrace::simulator

using namespace vramtrace::simulator;

SIM_API_ALWAYS(cuGetProcAddress, (const char* symbol, void** pfn, int cudaVersion, cuuint64_t flags),
               (symbol, pfn, cudaVersion, flags)) {
    require(pfn != nullptr);
    const Answer answer = look_up(symbol, cudaVersion, flags);
    require(answer.address != nullptr, CUDA_ERROR_NOT_FOUND);
    *pfn = answer.address;
    return CUDA_SUCCESS;
}

SIM_API_ALWAYS(cuGetProcAddress_v2,
               (const char* symbol, void** pfn, int cudaVersion, cuuint64_t flags,
                CUdriverProcAddressQueryResult* symbolStatus),
               (symbol, pfn, cudaVersion, flags, symbolStatus)) {
    require(pfn != nullptr);
    const Answer answer = look_up(symbol, cudaVersion, flags);
    *pfn = answer.address;
    if (symbolStatus != nullptr) {
        *symbolStatus = answer.status;
    }
    return CUDA_SUCCESS;
}

// NVIDIA's private tables are not imitated.
SIM_API_ALWAYS(cuGetExportTable, (const void** ppExportTable, const CUuuid* pExportTableId),
               (ppExportTable, pExportTableId)) {
    require(ppExportTable != nullptr && pExportTableId != nullptr);
    *ppExportTable = nullptr;
    return CUDA_ERROR_NOT_FOUND;
}
