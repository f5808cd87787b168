// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace vramtrace::cli {

constexpr char kVersion[] = VRAMTRACE_VERSION;  // of the project, given by the build

}  // namespace vramtrace::cli
