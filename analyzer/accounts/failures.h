// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <deque>
#include <unordered_map>
#include <vector>

#include "analyzer/accounts/accounts.h"
#include "analyzer/accounts/call_sites.h"
#include "analyzer/accounts/device_samples.h"
#include "analyzer/accounts/peak.h"
#include "analyzer/accounts/threads.h"
#include "analyzer/replay/observer.h"

namespace vramtrace::accounts {

// Calls that were refused, with the state at that instant. A refused request is not yet an out-of-memory: allocators give
// memory back and ask again. "Recovered" = the same thread later obtained a thing of the same kind and size (for failures
// inside the runtime: by the same runtime call and size).
//
// A framework's allocator that gives up does so after the driver refused its last request, on the same thread and with no
// block in between: one failure in two layers.
class Failures : public replay::Observer {
public:
    Failures(CallSites& sites, const Peak& peak, const DeviceSamples& samples, const Threads& threads)
        : sites_(sites), peak_(peak), samples_(samples), threads_(threads) {}

    void on_event(const trace::Event& event) override;
    void on_failed(const trace::Event& event, SiteId site) override;
    void on_allocate(const Allocation& allocation) override;

    std::vector<Failure> failures() const;
    uint64_t total() const { return total_; }
    uint64_t recovered() const { return recovered_; }
    uint64_t framework() const { return framework_; }

private:
    struct Waiting {
        uint64_t number = 0;  // of the failure
        SiteId site = 0;
        Kind kind = Kind::DeviceMemory;
        uint8_t label = trace::kNoName;
        bool runtime_only = false;
        uint64_t bytes = 0;
        bool for_block = false;  // out of device memory, and no block of this thread's since
    };
    static constexpr size_t kWaitingPerThread = 16;  // older ones stay unrecovered
    static constexpr size_t kWaitingThreads = 4096;

    Failure* kept(uint64_t number);
    bool join(const FrameworkFailure& framework, uint32_t thread);
    void add(const Failure& failure, const Waiting& waiting);
    void set_state(Failure& failure) const;

    CallSites& sites_;
    const Peak& peak_;
    const DeviceSamples& samples_;
    const Threads& threads_;
    std::vector<Failure> first_;
    std::deque<Failure> last_;
    uint64_t total_ = 0;
    uint64_t recovered_ = 0;
    uint64_t framework_ = 0;
    std::unordered_map<uint32_t, std::deque<Waiting>> waiting_;  // by thread
};

}  // namespace vramtrace::accounts
