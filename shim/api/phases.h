// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

// WHAT THE PROGRAM SAYS OF ITSELF, from the marker interface and from NVTX alike, as events. From any thread, also before
// CUDA is there and in a fork's child; never opens a trace: a process without GPU memory leaves none.
namespace vramtrace::shim {

enum class Origin : uint8_t { Marker = 0, Nvtx = 1 };

constexpr size_t kPhaseNameBytes = 255;  // longer names are cut

struct PhaseName {
    char text[kPhaseNameBytes + 1];
    uint32_t bytes;
};

// Cut at a character's start; nullptr becomes "(unnamed)".
void take_name(PhaseName& to, const char* text);

// id = 0: nested in this thread. domain: of NVTX, 0 = the default one.
void begin_range(const PhaseName& name, uint64_t id, uint64_t domain, Origin origin);
void end_range(uint64_t id, uint64_t domain, Origin origin);
void mark(const PhaseName& name, uint64_t domain, Origin origin);

// Unique in this process and its forks; never 0.
uint64_t new_range_id();

}  // namespace vramtrace::shim
