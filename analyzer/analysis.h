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
#include "analyzer/instant/picture.h"
#include "analyzer/symbolize/code_owner.h"
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
    // `function` is the qualified name (before Python 3.11 the name alone), `module` the file, `offset` counts its bytecode.
    bool python = false;
    // Not the program's own: kept, but the headline of a stack with Python frames only where nothing nearer is there.
    symbolize::Owner owner = symbolize::Owner::Program;
    std::string node;  // "AddmmBackward0": the autograd node that this native function computes

    std::string module_name() const;  // the file's name without directories
    std::string place() const;        // "train.cpp:33" (file name only), or "libfoo.so+0x12ab"
    std::string title() const;        // the function, or "libfoo.so+0x12ab"; "AddmmBackward0 (autograd)"
};

// Which frames of stacks that have both kinds. A stack without frames of the wanted kind is shown as it is.
enum class ShownFrames { Merged, Native, Python };

struct NamedStack {
    std::vector<uint32_t> frames;  // indices into ProcessAnalysis::frames, innermost first, inlined ones included
    bool truncated = false;        // deeper than the configured depth
    bool incomplete = false;       // the walk could not reach the thread's start
    bool missing = false;          // no stack was recorded, or it is damaged
    // Which frames ran the Python ones could not be told for sure: their places among each other are a guess.
    bool guessed = false;
    bool python = false;  // there are Python frames, shown or not
    // Index into `frames` of the one that a reader looks for; 0 if empty.
    //     with Python frames: the innermost one of the program's own, else of a package, a framework, Python's library
    //     else: the innermost autograd node, else the innermost frame that is not `vendor`, else the innermost
    uint32_t headline = 0;
    // All native frames as recorded, whatever is shown; empty: the same as `frames`.
    std::vector<uint32_t> native;
    // The library of NVIDIA's that allocated on the program's behalf ("libcublas.so.13"), empty if it was the program.
    std::string inside;
    std::string key;  // the same for the same names, whatever the process, the addresses, the run and what is shown
    std::string
        site_key;  // with ShownFrames other than Merged: of the frames from the merged headline outwards; else empty
    std::string shown_key;  // the same for what is shown; empty: as `key`

    const std::vector<uint32_t>& recorded() const { return native.empty() ? frames : native; }
    const std::string& key_of_shown() const { return shown_key.empty() ? key : shown_key; }
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
    std::vector<std::string> settings;            // "VRAMTRACE_DIR=…"
    std::string no_collector;                     // why none could be started
    std::vector<std::string> frameworks;          // "PyTorch 2.11.0+cu130"
    std::vector<std::string> framework_paths;     // libraries whose blocks are seen
    std::vector<std::string> allocator_settings;  // "PYTORCH_CUDA_ALLOC_CONF=…"
    std::string python;                           // "CPython 3.12.3"
    std::string python_frames;                    // why Python frames are not recorded, if so
    std::string other_nvtx_tool;                  // that the job's NVTX ranges went to
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
    std::optional<uint64_t> at;  // not its end: it is shown as it was then, ns since recording began

    bool running() const { return how == trace::SourceStatus::End::Running; }
    static ProcessEnd then(uint64_t at);  // running, as seen from an instant before its end
    std::string sentence() const;         // "exited with code 0", "killed by signal 9 (SIGKILL)", …
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
    // Devices frozen at the moments that matter: at their peaks, and at the requests that were refused (of very many, the
    // last ones and those that ended the job). From the second pass, like iterations; by device and moment.
    std::vector<instant::Picture> pictures;
    const instant::Picture* picture(uint8_t device, replay::Moment moment) const;

    std::optional<uint64_t> cut_at;     // the analysis ends there, ns since recording began; events came after it
    std::optional<uint64_t> first_gap;  // the last time before a gap in the order of events
    std::unordered_map<uint32_t, NamedStack> stacks;
    std::unordered_map<uint32_t, std::string> texts;
};

// A variable of `vramtrace run --framework-detail`.
struct DetailVariable {
    std::string framework, name, value;
    bool by_user = false;  // the user had set it: it stayed as it was
};

struct Analysis {
    std::string path;
    std::vector<DetailVariable> framework_detail;  // empty: run without it. Its variables changed how the job allocates
    std::vector<ProcessAnalysis> processes;        // by start of recording
    std::vector<std::string> warnings;             // about files, not about memory
    std::vector<std::string> symbol_problems;
};

using ProgressReport = std::function<void(uint64_t done, uint64_t total)>;

// What part of a process's events an analysis is of.
struct ReadingOptions {
    std::optional<uint64_t> at;  // as it was at that instant (ns since recording began): what came later is left out
    std::optional<std::string> phase;  // of the accounts only what belongs to it (accounts/phase_cut.h)
};

// One process on its way into an Analysis: reads `source` to its end and says which names it wants. The source may go
// then; the names come once all processes have been read, so that each file is opened once.
class ProcessReading {
public:
    ProcessReading(trace::EventSource& source, symbolize::Symbolizer& symbolizer, const ProgressReport& progress,
                   const ReadingOptions& options = {});
    ~ProcessReading();
    ProcessReading(ProcessReading&&) noexcept;
    // The same events once more, for what only the first reading could tell to look for: rounds of the job's loop, devices
    // at their peaks and at refused requests. Before resolve().
    void read_again(trace::EventSource& source, symbolize::Symbolizer& symbolizer, const ProgressReport& progress);
    // After symbolizer.resolve().
    ProcessAnalysis named(const symbolize::Symbolizer& symbolizer, ShownFrames shown = ShownFrames::Merged) &&;

private:
    struct Parts;
    std::unique_ptr<Parts> parts_;
};

struct AnalysisOptions {
    std::optional<std::string> path;  // a trace directory or one process's file in it; nothing: the newest trace here
    symbolize::SearchPaths symbols;
    bool look_up_symbols = true;       // false: only names kept in the trace
    std::optional<uint64_t> at;        // how each process was at that instant, ns since its recording began
    std::optional<std::string> phase;  // only what belongs to phases of this name (accounts/phase_cut.h)
    std::optional<uint32_t> pid;       // the other processes are not read
    ShownFrames shown = ShownFrames::Merged;
    bool read_twice = false;  // also what ProcessReading::read_again() gives; verdicts need it
    ProgressReport progress;
};

// Opens, accounts and names. Throws trace::InputError with one sentence if there is nothing to read.
Analysis analyze(const AnalysisOptions& options);

}  // namespace vramtrace
