// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "analyzer/accounts/accounts.h"
#include "analyzer/accounts/peak.h"
#include "analyzer/instant/decomposition.h"
#include "analyzer/instant/page_footprint.h"
#include "analyzer/replay/observer.h"
#include "analyzer/replay/pools.h"

namespace vramtrace::accounts {

// What cuMemGetInfo said, and each device frozen at its peak with the samples nearest to it. Attach after Peak and
// PageFootprint: it reads what they made of the event.
class DeviceSamples : public replay::Observer {
public:
    DeviceSamples(const Peak& peak, const instant::PageFootprint& footprint, const replay::Pools& pools)
        : peak_(peak), footprint_(footprint), pools_(pools) {}

    void on_event(const trace::Event& event) override;
    void on_allocate(const Allocation& allocation) override;
    void on_restore(const Allocation& allocation, const replay::Release& taken_back, Moment now) override;

    // The peak may have moved without an allocation.
    void look(Moment now);

    const MemorySample* last(uint8_t device) const;
    std::map<uint8_t, std::vector<MemorySample>> samples() const;
    // Devices that hold or held memory, or were sampled.
    std::vector<uint8_t> devices() const;
    instant::Inputs now(uint8_t device, Moment moment) const;
    instant::Inputs at_peak(uint8_t device) const;

private:
    using Sample = instant::Inputs::Sample;
    struct OfDevice {
        std::vector<MemorySample> samples;  // every stride-th
        uint64_t seen = 0;
        uint64_t stride = 1;
        MemorySample last;
        std::optional<Sample> last_sample;
        uint64_t peak_version = 0;
        instant::Inputs peak;              // its sample: the last one before
        std::optional<Sample> after_peak;  // the first one after
    };

    void sample(const trace::Event& event);
    void check_peak(uint8_t device, Moment now);

    const Peak& peak_;
    const instant::PageFootprint& footprint_;
    const replay::Pools& pools_;
    std::map<uint8_t, OfDevice> devices_;
};

}  // namespace vramtrace::accounts
