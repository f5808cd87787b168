// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ostream>

#include "analyzer/diff/diff.h"

namespace vramtrace::diff {

// docs/diff.md says what each member means. All call sites, whatever a text would show.
void write_json(std::ostream& out, const Diff& diff);

}  // namespace vramtrace::diff
