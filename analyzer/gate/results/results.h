// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ostream>

#include "analyzer/gate/gate.h"

// THE GATE'S DECISION IN EACH READER'S OWN FORM, one file a form. None of them decides anything.
namespace vramtrace::gate {

constexpr int kGateSchema = 1;

void write_text(std::ostream& out, const Decision& decision);
void write_json(std::ostream& out, const Decision& decision);

}  // namespace vramtrace::gate
