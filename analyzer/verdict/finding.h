// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/accounts/accounts.h"

// WHAT A VERDICT SAYS: a class, the numbers that led there, and what to do about it. Reports, the gate and diffs print
// findings; they add nothing of their own.
namespace vramtrace::verdict {

enum class Class : uint8_t {
    Growth,          // every iteration leaves something behind: a leak
    LeftAtExit,      // never freed, and not growing
    DelayedRelease,  // piled up, and was freed in the end: by a garbage collector, at teardown, with its context
    LibraryCache,    // kept by a library of NVIDIA's: one a handle, stream or thread
    Pending,         // freed by the program, not yet reusable
    UnusedReserve,   // cached or pooled, in no use
    Ramp,            // each allocation is larger than the one it replaces
    Handles,         // opened, registered, loaded or created, and never closed
};
// "growth", "left-at-exit", …: as options and JSON spell it.
std::string_view class_name(Class which);

// How much it matters to somebody who asks "does this program leak?"
enum class Weight : uint8_t { Leak, Suspicion, Note };
std::string_view weight_name(Weight weight);

struct Finding {
    Class what = Class::LeftAtExit;
    Weight weight = Weight::Note;
    std::string title;                  // one line, with the numbers that matter most
    std::vector<std::string> evidence;  // sentences, each with its numbers
    std::string remedy;                 // what to do; empty if nothing

    // The call site: all sites whose stacks read the same, whatever thread, device or process.
    std::vector<accounts::SiteId> sites;
    uint32_t stack = 0;  // one of theirs; 0 if the finding is about a device
    std::string key;     // NamedStack::key
    uint8_t device = trace::kNoDevice;
    accounts::Quantity quantity = accounts::Quantity::Device;
    accounts::Amount amount;  // what is left, pending, unused, …

    // Growth and delayed release: per iteration, after warm-up.
    uint64_t iterations = 0;
    double survivors_per_iteration = 0;
    double bytes_per_iteration = 0;
};

}  // namespace vramtrace::verdict
