// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "analyzer/accounts/accounts.h"
#include "analyzer/accounts/iterations.h"
#include "analyzer/symbolize/symbolizer.h"
#include "trace/event_source.h"

// THE HALL ALL VIEWS STAND IN: a trace opened, accounted and named. Reports, exports and the gate read an Analysis and
// nothing else; they neither open files nor look up symbols.
namespace vramtrace {

// A frame as a reader wants to see it.
struct NamedFrame {
    std::string function;  // empty: only the module is known
    std::string file;
    uint32_t line = 0;
    bool inlined = false;
    std::string module;  // path; "[anonymous]" and the like for code without a file
    uint64_t offset = 0;
    // Part of the driver, the CUDA runtime or a library of NVIDIA's above them, or of us: kept, but never the headline.
    bool vendor = false;

    std::string module_name() const;  // the file's name without directories
    std::string place() const;        // "train.cpp:33" (file name only), or "libfoo.so+0x12ab"
    std::string title() const;        // the function, or "libfoo.so+0x12ab"
};

struct NamedStack {
    std::vector<uint32_t> frames;  // indices into ProcessAnalysis::frames, innermost first, inlined ones included
    bool truncated = false;        // deeper than the configured depth
    bool incomplete = false;       // the walk could not reach the thread's start
    bool missing = false;          // no stack was recorded, or it is damaged
    // Index into `frames` of the innermost frame that is not `vendor`; of the innermost one if all are. 0 if empty.
    uint32_t headline = 0;
    // The library of NVIDIA's that allocated on the program's behalf ("libcublas.so.13"), empty if it was the program.
    std::string inside;
    std::string key;  // the same for the same names, whatever the process, the addresses and the run
};

struct DeviceFacts {
    std::string name;
    uint64_t total_bytes = 0;
    std::string uuid;
};

// What is known of a process besides its events.
struct ProcessFacts {
    std::vector<std::string> command;
    std::string executable, directory;
    std::string driver_version;  // "13.0"; empty if the driver was never asked
    std::string driver_path;
    bool simulated = false;  // the driver was vramtrace's simulated CUDA
    std::vector<std::string> runtimes;
    std::string shim_version;
    std::vector<std::string> settings;  // "VRAMTRACE_DIR=…"
    std::string no_collector;           // why none could be started
    std::string other_nvtx_tool;        // that the job's NVTX ranges went to
    std::map<uint8_t, DeviceFacts> devices;
    std::map<uint32_t, std::string> thread_names;

    std::string title() const;  // "train" or "python train.py"
};

// How a process ended: exact for the child of `vramtrace run`, else as far as it could be seen.
struct ProcessEnd {
    trace::SourceStatus::End how = trace::SourceStatus::End::Unknown;
    int value = -1;
    uint64_t time = 0;  // CLOCK_MONOTONIC, ns; 0 = not known
    bool core_dumped = false;
    std::optional<uint64_t> max_rss_bytes;

    bool running() const { return how == trace::SourceStatus::End::Running; }
    std::string sentence() const;  // "exited with code 0", "killed by signal 9 (SIGKILL)", …
};

struct ProcessAnalysis {
    accounts::Accounts accounts;
    trace::SourceStatus status;
    ProcessFacts facts;
    ProcessEnd end;
    std::vector<NamedFrame> frames;
    std::vector<std::string> names;  // of driver and runtime functions, by an event's api/label

    // Names of the call site's stack and calls.
    const NamedStack& stack(uint32_t id) const;
    std::string api(const accounts::SiteKey& site) const;       // "cudaMalloc → cuMemAlloc_v2"
    const std::string& text(uint32_t string_definition) const;  // of a TextNote
    uint64_t lost_events() const;                               // all that should be there and is not
    uint64_t since_start(uint64_t time) const;                  // ns since recording began
    std::string thread_name(uint32_t thread) const;             // "thread 4711 (loader)"
    // Loaded by the CUDA runtime for the program, and never meant to be given back before the end.
    bool kept_by_runtime(const accounts::SiteKey& site) const;
    // From this time on events are missing, so nothing can be judged after it; 0 if nobody can say since when. Nothing
    // if all events are there.
    std::optional<uint64_t> judged_until() const;
    // Allocations left out for VRAMTRACE_MIN_SIZE.
    uint64_t too_small() const { return status.losses[static_cast<size_t>(trace::Loss::TooSmall)]; }
    // The value of a VRAMTRACE_ variable, "" if it was not set.
    std::string setting(std::string_view name) const;

    // The job's outermost loop, if there is one, and what each call site had live in its rounds.
    std::optional<accounts::Iterations> iterations;

    std::optional<uint64_t> first_gap;  // the last time before a gap in the order of events
    std::unordered_map<uint32_t, NamedStack> stacks;
    std::unordered_map<uint32_t, std::string> texts;
};

struct Analysis {
    std::string path;
    std::vector<ProcessAnalysis> processes;  // by start of recording
    std::vector<std::string> warnings;       // about files, not about memory
    std::vector<std::string> symbol_problems;
};

using ProgressReport = std::function<void(uint64_t done, uint64_t total)>;

// One process on its way into an Analysis: reads `source` to its end and says which names it wants. The source may go
// then; the names come once all processes have been read, so that each file is opened once.
class ProcessReading {
public:
    // With a phase, of the accounts only what belongs to it (accounts/phase_cut.h).
    ProcessReading(trace::EventSource& source, symbolize::Symbolizer& symbolizer, const ProgressReport& progress,
                   const std::optional<std::string>& phase = std::nullopt);
    ~ProcessReading();
    ProcessReading(ProcessReading&&) noexcept;
    // The same events once more, if the job has a loop: what each call site had live in its rounds. Before resolve().
    bool wants_iterations() const;
    void read_iterations(trace::EventSource& source, symbolize::Symbolizer& symbolizer, const ProgressReport& progress);
    // After symbolizer.resolve().
    ProcessAnalysis named(const symbolize::Symbolizer& symbolizer) &&;

private:
    struct Parts;
    std::unique_ptr<Parts> parts_;
};

struct AnalysisOptions {
    std::optional<std::string> path;  // a trace directory or one process's file in it; nothing: the newest trace here
    symbolize::SearchPaths symbols;
    bool look_up_symbols = true;       // false: only names kept in the trace
    bool iterations = false;           // look for the job's loop, which reads everything twice; verdicts need it
    std::optional<std::string> phase;  // only what belongs to phases of this name (accounts/phase_cut.h)
    ProgressReport progress;
};

// Opens, accounts and names. Throws trace::InputError with one sentence if there is nothing to read.
Analysis analyze(const AnalysisOptions& options);

}  // namespace vramtrace
