// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

// WHAT A GATE ASKS FOR. Every limit that is set is one rule; one that is not set is not asked.
namespace vramtrace::gate {

struct Limits {
    std::optional<uint64_t> leaked_bytes;           // of all findings that are leaks of memory
    std::optional<uint64_t> leaked_allocations;     // their pieces
    std::optional<uint64_t> leaked_bytes_per_site;  // of one of them
    std::optional<uint64_t> growth;                 // bytes per iteration of one call site
    std::optional<uint64_t> peak;                   // bytes, of each device
    std::optional<double> peak_tolerance;           // share by which a device's peak may exceed the baseline's
    std::optional<double> fragmentation;            // largest-hole ratio, of each device's segments
    std::optional<uint64_t> failed_allocations;     // refused and not recovered
    std::optional<uint64_t> handles;                // never closed, of all kinds that matter

    bool any() const;
    // What is asked of a job when nothing is said: no leaked byte, no growth.
    static Limits usual();
};

// One that is known and accepted. `pattern` is matched as LeakSanitizer does: anywhere in the text, '*' is any text, '^' and
// '$' stand for its ends; the texts are function, file and module of every frame of the call stack.
struct Suppression {
    std::string pattern;
    std::string kind;                          // "device memory", …: only that kind; empty = any
    std::optional<uint64_t> most_bytes;        // more than that is not accepted
    std::optional<uint64_t> most_allocations;  // in pieces
    std::string reason;
    std::string until;   // "2027-01-31": from the next day on it counts for nothing
    std::string origin;  // "vramtrace.toml:12", for the table of used ones
};

struct GateFile {
    Limits limits;
    std::string phase;       // only what happens in this phase
    bool survivors = false;  // gate.h
    std::string baseline;
    std::vector<Suppression> suppressions;
    std::vector<std::string> suppression_files;
};

// Reads vramtrace.toml (docs/gate.md). Throws std::invalid_argument with one sentence: file, line, what is wrong. Unknown
// keys are wrong: a rule that is misspelt would never fail.
GateFile read_gate_file(const std::string& path);

// Reads a file in LeakSanitizer's syntax: "leak:PATTERN" a line, '#' begins a comment. Throws as above.
std::vector<Suppression> read_suppressions(const std::string& path);

}  // namespace vramtrace::gate
