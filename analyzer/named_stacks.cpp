// SPDX-License-Identifier: Apache-2.0
#include "analyzer/named_stacks.h"

#include <algorithm>

#include "analyzer/stack_namer.h"
#include "trace/bounded_cursor.h"

namespace vramtrace {

using Bytes = std::span<const std::byte>;

symbolize::ModuleKey RawStacks::read_module(Bytes body) {
    trace::BoundedCursor cursor(body);
    const auto head = cursor.fixed<trace::ModuleBody>();
    if (!cursor.ok()) return {"[unknown]", ""};
    const auto part = [&](uint32_t bytes) { return cursor.bytes(std::min<uint64_t>(bytes, cursor.left())); };
    symbolize::ModuleKey key;
    const Bytes id = part(head.build_id_bytes);
    key.build_id = symbolize::build_id_text(id.data(), id.size());
    const Bytes path = part(head.path_bytes);
    key.path.assign(reinterpret_cast<const char*>(path.data()), path.size());
    return key;
}

// What a frame is, its definition says: of a Python code object or not.
void RawStacks::read_frames(const trace::DefinitionView& definitions, uint32_t id, RawStack& stack) {
    trace::BoundedCursor body(definitions.body(id, trace::DefinitionKind::Stack));
    const auto head = body.fixed<trace::StackBody>();
    if (!body.ok()) return;
    bool python = false;
    for (uint16_t i = 0; i < head.frame_count && body.left() >= sizeof(trace::Frame); ++i) {
        const auto frame = body.fixed<trace::Frame>();
        const trace::DefinitionId names = trace::frame_module(frame);
        if (codes_.find(names) == codes_.end() && modules_.find(names) == modules_.end()) {
            const Bytes module = definitions.body(names, trace::DefinitionKind::Module);
            auto code = symbolize::PythonCode::read(definitions.body(names, trace::DefinitionKind::CodeObject));
            if (module.empty() && code) {
                codes_.emplace(names, std::move(*code));
            } else {
                modules_.emplace(names, read_module(module));
            }
        }
        python |= code_of(frame) != nullptr;
        (code_of(frame) != nullptr ? stack.python : stack.native).push_back(frame);
    }
    (python ? stack.python_flags : stack.native_flags) |= head.flags;
}

void RawStacks::add(const trace::DefinitionView& definitions, uint32_t id) {
    const auto [at, fresh] = stacks_.try_emplace(id);
    if (!fresh || id == 0) return;
    RawStack& stack = at->second;
    trace::BoundedCursor joined(definitions.body(id, trace::DefinitionKind::JoinedStack));
    const auto parts = joined.fixed<trace::JoinedStackBody>();
    if (!joined.ok()) {
        read_frames(definitions, id, stack);
        return;
    }
    read_frames(definitions, parts.native, stack);
    stack.native_missing = stack.native.empty();
    read_frames(definitions, parts.python, stack);
}

void RawStacks::want(symbolize::Symbolizer& symbolizer) const {
    for (const auto& [id, stack] : stacks_) {
        for (const trace::Frame frame : stack.native) symbolizer.want(module_of(frame), trace::frame_offset(frame));
    }
}

const symbolize::ModuleKey& RawStacks::module_of(trace::Frame frame) const {
    static const symbolize::ModuleKey kUnknown{"[unknown]", ""};
    const auto found = modules_.find(trace::frame_module(frame));
    return found != modules_.end() ? found->second : kUnknown;
}

const symbolize::PythonCode* RawStacks::code_of(trace::Frame frame) const {
    const auto found = codes_.find(trace::frame_module(frame));
    return found != codes_.end() ? &found->second : nullptr;
}

std::unordered_map<uint32_t, NamedStack> RawStacks::named(const symbolize::Symbolizer& symbolizer,
                                                          std::vector<NamedFrame>& frames, ShownFrames shown) const {
    StackNamer namer(*this, symbolizer, frames, shown);
    for (const auto& [id, stack] : stacks_) namer.meet(stack);
    std::unordered_map<uint32_t, NamedStack> stacks;
    for (const auto& [id, stack] : stacks_) stacks.emplace(id, namer.name(stack));
    return stacks;
}

}  // namespace vramtrace
