// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "analyzer/input/run_record.h"
#include "trace/container/container_reader.h"
#include "trace/container/definition_store.h"
#include "trace/container/process_watch.h"
#include "trace/event_source.h"
#include "trace/ring/definition_image.h"
#include "trace/ring/ring_file.h"
#include "trace/ring/ring_reader.h"

// ALL THAT IS LEFT OF ONE PROCESS, in ticket order, wherever it is: the container's blocks, then what the ring still
// holds.
//
//   container ──no more──► ring ──slots reused meanwhile──► container ──► ring ──► end
//
// Three situations. Job alive: a report as of now; events after the first look at the ring are left for the next
// report. Job dead, collector at work: wait until it has completed the container. Both dead: the ring post mortem;
// slots that were never committed are counted, releases in flight are told.
namespace vramtrace::input {

struct ProcessFiles {
    std::string directory;
    std::string container;          // STEM.trace; may not exist (yet)
    std::string ring_prefix;        // empty: there is no ring to look for
    bool followed_by_exec = false;  // a later trace of the same process is there
    std::optional<RunRecord> run;
};

class ProcessTrace final : public trace::EventSource {
public:
    // Throws InputError if neither container nor ring can be read.
    explicit ProcessTrace(const ProcessFiles& files);
    ~ProcessTrace() override;

    bool next_batch(std::vector<trace::Event>& batch) override;
    const trace::DefinitionView& definitions() const override { return definitions_; }
    const trace::SourceStatus& status() const override { return status_; }
    uint64_t bytes_done() const override;
    uint64_t bytes_total() const override;

    const trace::ProcessIdentity& identity() const { return status_.identity; }
    // Pairs of CLOCK_MONOTONIC and CLOCK_REALTIME met so far; the identity's opening pair is the first one.
    const std::vector<trace::ClockPair>& clocks() const;

private:
    enum class Phase { Container, Ring, Done };

    bool open_container();
    bool container_is_new() const;
    bool open_ring();
    bool read_container(std::vector<trace::Event>& batch);
    bool read_ring(std::vector<trace::Event>& batch);
    void choose_role();
    bool process_alive();
    void await_collector();
    void lay_definitions();
    bool give_held(std::vector<trace::Event>& batch);
    void after_ring_batch();
    void skip_recycled();
    void finish();
    void finish_end();
    void warn(const std::string& sentence);

    ProcessFiles files_;
    Phase phase_ = Phase::Container;
    std::string container_problem_;
    trace::DefinitionStore definitions_;
    std::unique_ptr<trace::ContainerReader> container_;
    std::unique_ptr<trace::RingFiles> ring_files_;
    std::unique_ptr<trace::RingReader> ring_;
    trace::DefinitionFile definition_file_;
    trace::DefinitionScanner scanner_;
    bool definition_file_open_ = false;
    std::unique_ptr<trace::ProcessWatch> watch_;
    bool this_machine_ = false;
    bool ring_gone_ = false;
    bool role_chosen_ = false;
    bool running_ = false;
    uint64_t next_ticket_ = 0;        // tickets before it were given or counted
    std::vector<trace::Event> held_;  // the ring's last batch, given up to held_at_
    size_t held_at_ = 0;
    uint64_t held_end_ = 0;  // the ring was read up to this ticket
    trace::BatchEnd held_result_ = trace::BatchEnd::Idle;
    uint64_t asked_for_ = ~0ULL;    // start of the gap for which the container was last asked
    uint64_t recycled_at_ = ~0ULL;  // ticket whose slot was given back, for which the container was last asked
    uint64_t cut_off_ = ~0ULL;      // CLOCK_MONOTONIC: events after it belong to the next report
    uint64_t missing_ = 0;
    uint64_t ring_gaps_ = 0;  // tickets that neither ring nor container had …
    uint64_t ring_void_ = 0;  // … and those that never had an event, met by readers already replaced
    trace::SourceStatus status_;
};

// The Fact definitions in `definitions`: key and value, in the order of recording.
std::vector<std::pair<std::string, std::string>> read_facts(const trace::DefinitionView& definitions);

}  // namespace vramtrace::input
