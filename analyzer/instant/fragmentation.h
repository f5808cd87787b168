// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

// THE FORMULAS, as pure functions of numbers. A ratio without its formula's name is never shown (docs/formulas.md).
namespace vramtrace::instant {

// "largest-hole ratio": 1 − largest / total over free runs. 0 = one run; nothing if there is no free byte.
std::optional<double> largest_hole_ratio(std::span<const uint64_t> holes);
// "hole dispersion": 1 − Σ s² / (Σ s)². 0 = one run, towards 1 = many small ones.
std::optional<double> hole_dispersion(std::span<const uint64_t> holes);
// "peak ratio": 1 − peak live / peak reserved, each at its own peak.
std::optional<double> peak_ratio(uint64_t peak_live, uint64_t peak_reserved);
// "unused share": 1 − live / reserved at one instant.
std::optional<double> unused_share(uint64_t live, uint64_t reserved);
// Mean over samples of reserved / live; samples without live bytes are left out.
std::optional<double> mean_overhead(std::span<const uint64_t> live, std::span<const uint64_t> reserved);

struct Run {
    uint64_t address = 0;
    uint64_t bytes = 0;
    uint64_t end() const { return address + bytes; }
    friend bool operator==(const Run&, const Run&) = default;
};

// Parts of `areas` covered by none of `taken`, in order of address. Both may be unsorted and overlap; runs of adjoining
// areas are not merged: a hole lies in one area.
std::vector<Run> holes_in(std::vector<Run> areas, std::vector<Run> taken);

// A framework's or pool's segment cut into blocks, for the largest allocatable block.
enum class BlockState : uint8_t { Live, Pending, Free };
struct Block {
    uint64_t bytes = 0;
    uint64_t requested = 0;  // ≤ bytes; 0 for free blocks
    BlockState state = BlockState::Free;
};
struct SegmentSummary {
    uint64_t reserved = 0, live = 0, pending = 0, requested = 0, internal = 0;  // internal: live − requested
    std::vector<uint64_t> holes;         // in segments that a live or pending block pins
    uint64_t releasable = 0;             // segments without any live or pending block
    uint64_t largest_hole = 0;           // in any segment
    uint64_t largest_allocatable = 0;    // max(largest hole, driver free)
    uint64_t largest_after_release = 0;  // the same after every releasable segment went back to the driver
    uint64_t largest_after_pending = 0;  // the same after pending blocks completed and their segments went back
};
SegmentSummary summarize_segments(std::span<const std::vector<Block>> segments, uint64_t driver_free);

}  // namespace vramtrace::instant
