// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <set>
#include <unordered_map>
#include <vector>

#include "analyzer/named_stacks.h"
#include "analyzer/symbolize/interpreter_frames.h"
#include "analyzer/symbolize/merged_stack.h"

namespace vramtrace {

// Names the stacks of one process. A place seen in many stacks is named once.
class StackNamer {
public:
    StackNamer(const RawStacks& raw, const symbolize::Symbolizer& symbolizer, std::vector<NamedFrame>& frames,
               ShownFrames shown)
        : raw_(raw), symbolizer_(symbolizer), frames_(frames), shown_(shown) {}

    // All stacks first: which files hold an interpreter is learnt from all of them.
    void meet(const RawStack& stack);
    NamedStack name(const RawStack& stack);

private:
    struct Places {
        uint32_t first = 0;
        uint32_t count = 0;
    };
    using Indices = std::vector<uint32_t>;

    Places native_place(trace::Frame recorded);
    Places python_place(trace::Frame recorded);
    symbolize::NativeRole role_of(trace::Frame recorded) const;
    symbolize::MergedStack merged(const RawStack& stack) const;
    std::string key_of(const Indices& frames) const;
    uint32_t headline_of(const Indices& frames, bool with_python) const;
    std::string library_inside(const Indices& frames) const;

    const RawStacks& raw_;
    const symbolize::Symbolizer& symbolizer_;
    std::vector<NamedFrame>& frames_;
    ShownFrames shown_;
    std::unordered_map<trace::Frame, Places> places_;
    std::set<trace::DefinitionId> interpreters_;  // modules in which Python code is evaluated
};

}  // namespace vramtrace
