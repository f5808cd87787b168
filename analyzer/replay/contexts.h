// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <unordered_map>

#include "analyzer/replay/core.h"

namespace vramtrace::replay {

// CONTEXTS AND WHAT ENDS WITH THEM: device, managed, pinned and registered memory, arrays, modules, streams, events, what was
// opened or imported into them; not VMM handles, address ranges, pools and their memory, graph memory, libraries.
// Events name contexts by an index of the shim; handles may be given out again, indices are not.
class Contexts {
public:
    explicit Contexts(Core& core) : core_(core) {}

    void create(const trace::Event& event);
    void seen(const trace::Event& event);
    void destroy(const trace::Event& event);
    void retain_primary(const trace::Event& event);
    void release_primary(const trace::Event& event);
    void reset_primary(const trace::Event& event);
    void create_green(const trace::Event& event);
    void destroy_green(const trace::Event& event);

    // True if a driver's refusal with that result means that nothing is held any more, rather than that the call was wrong.
    bool means_gone(uint16_t result) const;

private:
    struct Known {
        uint64_t handle = 0;
        uint8_t device = trace::kNoDevice;
        bool created = false;  // by cuCtxCreate: not a primary one
    };

    void reference_primary(const trace::Event& event, uint64_t handle);
    void drop_primary(uint8_t device, const trace::Event& event);
    void end_primary(uint8_t device, const trace::Event& event);
    bool is_primary(const Known& known, uint8_t device) const;
    template <typename Belongs>
    void end_all(Belongs&& belongs, const trace::Event& event);

    Core& core_;
    std::unordered_map<uint16_t, Known> known_;
    std::unordered_map<uint8_t, uint64_t> primary_handles_;
    bool any_ended_ = false;
};

}  // namespace vramtrace::replay
