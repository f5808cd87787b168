// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "analyzer/gate/gate.h"

namespace vramtrace::gate {

// Why this trace allows no verdict, one sentence a reason; empty if it does. A gate that cannot see must not look green.
std::vector<std::string> obstacles(const Analysis& analysis, const Request& request);

}  // namespace vramtrace::gate
