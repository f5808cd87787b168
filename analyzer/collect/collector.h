// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <csignal>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "analyzer/collect/collector_log.h"
#include "analyzer/collect/ring_drain.h"
#include "trace/container/collector_lock.h"
#include "trace/container/process_watch.h"

// THE COLLECTOR of one trace directory: finds the rings of this machine there, drains each into its container,
// notices how each process ended, and goes when nobody is left. It may be killed at any moment and started again.
//
//   ring appears ─► open ─► round, round, … ─► process gone or exec'ed ─► finish ─► ring removed
//                     └► not ours, damaged, newer: a line in collector.log, left alone
namespace vramtrace::collect {

struct CollectorOptions {
    std::string directory;                     // absolute
    pid_t stay_for = 0;                        // a process (of the caller) for which it stays though no ring is there
    uint64_t idle_exit = 2'000'000'000;        // ns without any job
    uint64_t disk_limit_bytes = 4ULL << 30;    // of everything in the directory; 0 = none
    uint64_t disk_floor_bytes = 256ULL << 20;  // that must stay free for others, at most 1 % of the disk; 0 = none
    uint64_t lock_patience = 500'000'000;      // ns to wait for a collector that is just leaving
};

class Collector {
public:
    explicit Collector(const CollectorOptions& options);

    // Until nobody is left or `stop` is not 0 (set it from a signal handler). False if another collector is at work
    // or the directory cannot be locked.
    bool run(const volatile std::sig_atomic_t& stop);

private:
    struct Job {
        std::unique_ptr<RingDrain> drain;
        bool replaced = false;  // a later ring of the same process is there: exec
        bool finished = false;
        bool blocked = false;
        uint64_t retry = 0;  // time of the next attempt to finish
    };

    bool take_lock(const volatile std::sig_atomic_t& stop);
    void scan(uint64_t now, bool at_once);
    bool waiting_for_ring(uint64_t now) const;
    void consider(const std::string& stem, uint64_t now);
    bool round(uint64_t now);
    void finish_job(Job& job, uint64_t now);
    void check_space(uint64_t now);
    bool anybody_left(uint64_t now);
    void leave();
    void wait(int milliseconds);
    void complain(const std::string& stem, const std::string& sentence);
    void remove_leftovers(const std::string& stem);

    CollectorOptions options_;
    CollectorLog log_;
    trace::CollectorLock lock_;
    trace::ProcessIdentity machine_;
    std::unique_ptr<trace::ProcessWatch> stay_for_;
    std::map<std::string, Job> jobs_;            // by stem
    std::map<std::string, uint64_t> not_ready_;  // since when
    std::set<std::string> ignored_;              // stems: completed, or nothing that we can drain
    std::set<std::string> said_;
    int watch_fd_ = -1;  // inotify on the directory
    bool news_ = true;   // something may have appeared since the last scan
    uint64_t scan_time_ = 0;
    uint64_t space_time_ = 0;
    bool may_write_ = true;
    std::string no_space_;  // why not
};

}  // namespace vramtrace::collect
