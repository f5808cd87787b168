// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace vramtrace::simulator {

uint64_t current_tag();  // vramtrace_sim_set_tag of this thread

}  // namespace vramtrace::simulator
