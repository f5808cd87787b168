// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ostream>

#include "analyzer/diff/diff.h"

namespace vramtrace::diff {

// At most `rows` call sites that grew and as many that shrank, of each quantity.
void write_text(std::ostream& out, const Diff& diff, size_t rows);

}  // namespace vramtrace::diff
