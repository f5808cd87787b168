// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "analyzer/analysis.h"

// CALL SITES THAT ARE THE SAME IN ANOTHER RUN: after a rebuild, on another machine, with the source moved by some lines.
namespace vramtrace {

enum class SiteDetail {
    Names,    // functions and file names; of code without names only the module
    Offsets,  // the same, but of code without names the offset in its module too: the same only for the same build
    Lines,    // functions, file names and lines; offsets of code without names
};

// What tells the call site apart, from the headline outwards; no addresses. Frames of NVIDIA's and of ours are left out:
// they change with every release of those. Empty without a stack.
std::vector<std::string> site_parts(const ProcessAnalysis& process, const NamedStack& stack, SiteDetail detail);

}  // namespace vramtrace
