// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <unordered_map>
#include <vector>

#include "analyzer/analysis.h"
#include "analyzer/symbolize/python_lines.h"
#include "trace/definition.h"

namespace vramtrace {

struct RawStack {
    std::vector<trace::Frame> native, python;  // innermost first
    uint16_t native_flags = 0, python_flags = 0;
    bool native_missing = false;  // there are Python frames, and of the others nothing is known
};

// Stacks as they were recorded, taken out of a process's definitions so that those need not be kept; then their names.
class RawStacks {
public:
    // The stack `id`, native or joined, and what its frames name; once is enough.
    void add(const trace::DefinitionView& definitions, uint32_t id);
    // Wants the names of all their native addresses: those of Python frames are in the trace.
    void want(symbolize::Symbolizer& symbolizer) const;
    // Named stacks by id; their frames are put behind those in `frames`, each place once.
    std::unordered_map<uint32_t, NamedStack> named(const symbolize::Symbolizer& symbolizer,
                                                   std::vector<NamedFrame>& frames,
                                                   ShownFrames shown = ShownFrames::Merged) const;

    // "[unknown]" if the frame names none.
    const symbolize::ModuleKey& module_of(trace::Frame frame) const;
    // nullptr if the frame names none.
    const symbolize::PythonCode* code_of(trace::Frame frame) const;

private:
    void read_frames(const trace::DefinitionView& definitions, uint32_t id, RawStack& stack);
    static symbolize::ModuleKey read_module(std::span<const std::byte> body);

    std::unordered_map<uint32_t, RawStack> stacks_;
    std::map<trace::DefinitionId, symbolize::ModuleKey> modules_;
    std::map<trace::DefinitionId, symbolize::PythonCode> codes_;
};

}  // namespace vramtrace
