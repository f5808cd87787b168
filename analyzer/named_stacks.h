// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <unordered_map>
#include <vector>

#include "analyzer/analysis.h"
#include "trace/definition.h"

namespace vramtrace {

// Stacks as they were recorded, taken out of a process's definitions so that those need not be kept; then their names.
class RawStacks {
public:
    // The stack `id` and the modules that it names; once is enough.
    void add(const trace::DefinitionView& definitions, uint32_t id);
    // Wants the names of all their addresses.
    void want(symbolize::Symbolizer& symbolizer) const;
    // Named stacks by id; their frames are put behind those in `frames`, each place once.
    std::unordered_map<uint32_t, NamedStack> named(const symbolize::Symbolizer& symbolizer,
                                                   std::vector<NamedFrame>& frames) const;

private:
    struct Stack {
        std::vector<trace::Frame> frames;
        uint16_t flags = 0;
    };
    class Namer;

    static Stack read_stack(const trace::DefinitionView& definitions, uint32_t id);
    static symbolize::ModuleKey read_module(const trace::DefinitionView& definitions, trace::DefinitionId id);

    std::unordered_map<uint32_t, Stack> stacks_;
    std::map<trace::DefinitionId, symbolize::ModuleKey> modules_;
};

}  // namespace vramtrace
