// SPDX-License-Identifier: Apache-2.0
#include "analyzer/accounts/device_samples.h"

#include <algorithm>

namespace vramtrace::accounts {

void DeviceSamples::on_event(const trace::Event& event) {
    if (event.kind == trace::EventKind::MemoryInfo) sample(event);
}

void DeviceSamples::sample(const trace::Event& event) {
    OfDevice& device = devices_[event.device];
    const Moment moment{event.sequence, event.time};
    device.last = {moment, event.size, event.aux};
    if (device.seen++ % device.stride == 0) {
        if (device.samples.size() == kMemorySamples) {  // keep every second one, and from now on half as many
            for (size_t i = 0; i * 2 < device.samples.size(); ++i) device.samples[i] = device.samples[i * 2];
            device.samples.resize(kMemorySamples / 2);
            device.stride *= 2;
        }
        if ((device.seen - 1) % device.stride == 0) device.samples.push_back(device.last);
    }
    device.last_sample = Sample{moment, event.size, event.aux, now(event.device, moment).tracked_bytes()};
    if (device.peak_version > 0 && !device.after_peak) device.after_peak = device.last_sample;
}

instant::Inputs DeviceSamples::now(uint8_t device, Moment moment) const {
    instant::Inputs in;
    in.device = device;
    in.moment = moment;
    in.live_bytes = peak_.live(device, Quantity::Device).bytes;
    in.footprint_bytes = footprint_.of(device).footprint;
    in.paged_live_bytes = footprint_.of(device).live;
    for (auto pool = pools_.states().lower_bound({device, 0}); pool != pools_.states().end(); ++pool) {
        if (pool->first.first != device) break;
        const replay::PoolState& state = pool->second;
        if (!state.last) continue;
        in.pools_sampled = true;
        const uint64_t beyond = state.last->reserved > state.live_bytes ? state.last->reserved - state.live_bytes : 0;
        const uint64_t pending = std::min(beyond, state.last->pending());
        in.pool_pending_bytes += pending;
        in.pool_unused_bytes += beyond - pending;
    }
    const auto known = devices_.find(device);
    if (known != devices_.end()) in.sample = known->second.last_sample;
    return in;
}

void DeviceSamples::check_peak(uint8_t number, Moment moment) {
    OfDevice& device = devices_[number];
    const uint64_t version = peak_.version(number, Quantity::Device);
    if (version == device.peak_version) return;
    device.peak_version = version;
    device.peak = now(number, moment);
    device.after_peak.reset();
}

void DeviceSamples::on_allocate(const Allocation& allocation) {
    if (allocation.quantity() == Quantity::Device) check_peak(allocation.device, allocation.birth);
}

void DeviceSamples::on_restore(const Allocation& allocation, const replay::Release&, Moment now) {
    if (allocation.quantity() == Quantity::Device) check_peak(allocation.device, now);
}

void DeviceSamples::look(Moment now) {
    for (const uint8_t device : devices()) check_peak(device, now);
}

const MemorySample* DeviceSamples::last(uint8_t device) const {
    const auto known = devices_.find(device);
    return known == devices_.end() || known->second.seen == 0 ? nullptr : &known->second.last;
}

std::map<uint8_t, std::vector<MemorySample>> DeviceSamples::samples() const {
    std::map<uint8_t, std::vector<MemorySample>> out;
    for (const auto& [number, device] : devices_) {
        if (device.seen == 0) continue;
        std::vector<MemorySample>& samples = out[number] = device.samples;
        if (samples.empty() || !(samples.back().moment == device.last.moment)) samples.push_back(device.last);
    }
    return out;
}

std::vector<uint8_t> DeviceSamples::devices() const {
    std::vector<uint8_t> out;
    for (const auto& [number, device] : devices_) out.push_back(number);
    return out;
}

instant::Inputs DeviceSamples::at_peak(uint8_t device) const {
    const auto known = devices_.find(device);
    if (known == devices_.end()) return {};
    instant::Inputs in = known->second.peak;
    in.device = device;
    const std::optional<Sample>& after = known->second.after_peak;
    if (!after) return in;
    const auto distance = [&in](const Sample& sample) {
        return std::max(sample.moment.time, in.moment.time) - std::min(sample.moment.time, in.moment.time);
    };
    if (!in.sample || distance(*after) < distance(*in.sample)) in.sample = after;
    return in;
}

}  // namespace vramtrace::accounts
