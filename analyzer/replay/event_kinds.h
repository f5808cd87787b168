// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <utility>

#include "analyzer/replay/live_set.h"
#include "analyzer/replay/quantities.h"
#include "trace/event.h"

// What kinds of events mean, where a table says it all.
namespace vramtrace::replay {

// Events that are recorded before their real call and may therefore be taken back.
bool is_release(trace::EventKind kind);
// The space and name of the one thing that a release event ends, if it is of such a kind and names something.
std::optional<std::pair<Space, uint64_t>> released_name(const trace::Event& event);
// What an attempt of that kind would have made; DeviceMemory where the event does not say.
Kind kind_made_by(trace::EventKind kind);

}  // namespace vramtrace::replay
