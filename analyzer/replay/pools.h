// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>

#include "analyzer/replay/core.h"

namespace vramtrace::replay {

// A pool with what is live in it, by program order.
struct PoolState {
    uint8_t device = trace::kNoDevice;
    uint64_t pool = 0;  // 0 = the device's default pool
    uint64_t live_bytes = 0;
    uint64_t live_count = 0;
    uint64_t peak_live_bytes = 0;
    uint64_t peak_reserved = 0;  // over samples
    bool destroyed = false;      // its end waits for what is live in it
    std::optional<PoolSample> last;
    std::optional<uint64_t> release_threshold;
};

// STREAM-ORDERED MEMORY. A free ends an allocation in program order; what the stream has not reached yet shows only in
// the pool's own numbers (PoolInfo). A pool destroyed while memory of it is live goes when the last of it is freed.
// A pool that nobody was seen to create is its device's default pool: the driver gives out a handle for that one too.
class Pools : public Observer {
public:
    explicit Pools(Core& core) : core_(core) { current_.fill(0); }

    void create(const trace::Event& event);
    void destroy(const trace::Event& event);
    void allocate(const trace::Event& event);
    void set_current(const trace::Event& event);
    void set_attribute(const trace::Event& event);
    void import_pointer(const trace::Event& event);
    void sample(const trace::Event& event);

    // Of every pool that is alive, by device and handle.
    const std::map<std::pair<uint8_t, uint64_t>, PoolState>& states() const { return states_; }

    void on_allocate(const Allocation& allocation) override;
    void on_release(const Allocation& allocation, const Release& release) override;
    void on_restore(const Allocation& allocation, const Release& taken_back, Moment now) override;

private:
    // Which pool an event means: device and handle, 0 for the default one.
    std::pair<uint8_t, uint64_t> meant(const trace::Event& event) const;
    PoolState& state(std::pair<uint8_t, uint64_t> key);
    void drop_if_gone(std::pair<uint8_t, uint64_t> key);
    void mark_owner(std::pair<uint8_t, uint64_t> key, bool destroyed);

    Core& core_;
    std::array<uint64_t, 256> current_;  // by device; 0 = default
    std::map<std::pair<uint8_t, uint64_t>, PoolState> states_;
};

}  // namespace vramtrace::replay
