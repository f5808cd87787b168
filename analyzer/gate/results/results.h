// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ostream>
#include <string>

#include "analyzer/gate/gate.h"

// THE GATE'S DECISION IN EACH READER'S OWN FORM, one file a form. None of them decides anything.
namespace vramtrace::gate {

constexpr int kGateSchema = 1;

// What a form needs besides the decision.
struct Context {
    std::string source_root;  // absolute: the repository, for places that CI services can show
    std::string gate_file;    // relative to it: where to point to if no frame lies in the repository
    std::string version;
};

void write_text(std::ostream& out, const Decision& decision, const Context& context);
void write_json(std::ostream& out, const Decision& decision, const Context& context);
void write_junit(std::ostream& out, const Decision& decision, const Context& context);
void write_sarif(std::ostream& out, const Decision& decision, const Context& context);
void write_github(std::ostream& out, const Decision& decision, const Context& context);

// The Markdown that write_github adds to the step's summary, below its size limit.
std::string github_summary(const Decision& decision);

}  // namespace vramtrace::gate
