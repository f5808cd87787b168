// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "analyzer/analysis.h"

namespace vramtrace::verdict {

// WHAT A VERDICT IS PASSED ON: one call site by name. Sites whose stacks read the same from the headline outwards are one,
// over threads, devices and addresses, whatever a library does below it; their numbers are added round by round.
struct Candidate {
    const ProcessAnalysis* process = nullptr;
    const NamedStack* stack = nullptr;
    uint32_t stack_id = 0;
    std::string key;
    // Library of NVIDIA's for which the memory was made: it allocated it, or a framework's function makes its workspaces.
    std::string library;
    std::string arena;          // sentence, if a framework hands out parts of it by itself and nobody can look inside
    bool pinned_cache = false;  // PyTorch's cache of pinned host memory
    accounts::Kind kind = accounts::Kind::DeviceMemory;
    std::vector<accounts::SiteId> sites;
    uint8_t device = trace::kNoDevice;  // if all are on one
    accounts::Amount left_segments;     // of what is left: driver memory in which a framework keeps its tensors
    accounts::Amount left, allocated, live, own_peak;
    accounts::Amount freed_with_context;  // in the middle of the run, not at exit
    uint64_t larger = 0, smaller = 0;
    accounts::Moment first, last;

    // Rounds of the job's loop; empty if it has none. Index 0 is what came before the first iteration.
    std::vector<uint64_t> trough_bytes, trough_count, born, survivor_count, survivor_bytes;
    std::vector<accounts::SiteSeries::Release> releases;
    uint64_t stride = 1;
    uint64_t iterations = 0;

    accounts::Quantity quantity() const { return replay::quantity_of(kind); }
    // "empty() at tensor.h:12 ← step() at train.cpp:33", or the API's name if there is no stack.
    std::string place() const;
};

std::vector<Candidate> candidates_of(const ProcessAnalysis& process);

// The first rounds build caches, workspaces and optimizer state: a tenth of all, at least two and at most ten, and the
// round before the loop.
size_t warm_up_rounds(size_t rounds);

}  // namespace vramtrace::verdict
