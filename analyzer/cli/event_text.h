// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "trace/event.h"

namespace vramtrace::cli {

// "DeviceAlloc": as trace/event.h spells it; "?" for kinds of a newer version.
std::string_view kind_text(trace::EventKind kind);

}  // namespace vramtrace::cli
