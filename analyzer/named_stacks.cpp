// SPDX-License-Identifier: Apache-2.0
#include "analyzer/named_stacks.h"

#include <cstring>

#include "analyzer/symbolize/vendor_libraries.h"

namespace vramtrace {

using Bytes = std::span<const std::byte>;

RawStacks::Stack RawStacks::read_stack(const trace::DefinitionView& definitions, uint32_t id) {
    Stack stack;
    const Bytes body = definitions.body(id, trace::DefinitionKind::Stack);
    trace::StackBody head;
    if (id == 0 || body.size() < sizeof head) return stack;
    std::memcpy(&head, body.data(), sizeof head);
    const size_t held = (body.size() - sizeof head) / sizeof(trace::Frame);
    stack.frames.resize(std::min<size_t>(head.frame_count, held));
    if (!stack.frames.empty()) {
        std::memcpy(stack.frames.data(), body.data() + sizeof head, stack.frames.size() * sizeof(trace::Frame));
    }
    stack.flags = head.flags;
    return stack;
}

symbolize::ModuleKey RawStacks::read_module(const trace::DefinitionView& definitions, trace::DefinitionId id) {
    Bytes body = definitions.body(id, trace::DefinitionKind::Module);
    trace::ModuleBody head;
    if (body.size() < sizeof head) {
        return {definitions.body(id, trace::DefinitionKind::CodeObject).empty() ? "[unknown]" : "[python]", ""};
    }
    symbolize::ModuleKey key;
    std::memcpy(&head, body.data(), sizeof head);
    body = body.subspan(sizeof head);
    const size_t id_bytes = std::min<size_t>(head.build_id_bytes, body.size());
    key.build_id = symbolize::build_id_text(body.data(), id_bytes);
    body = body.subspan(id_bytes);
    key.path.assign(reinterpret_cast<const char*>(body.data()), std::min<size_t>(head.path_bytes, body.size()));
    return key;
}

void RawStacks::add(const trace::DefinitionView& definitions, uint32_t id) {
    const auto [at, fresh] = stacks_.try_emplace(id);
    if (!fresh) return;
    at->second = read_stack(definitions, id);
    for (const trace::Frame frame : at->second.frames) {
        const trace::DefinitionId module = trace::frame_module(frame);
        if (modules_.find(module) == modules_.end()) modules_.emplace(module, read_module(definitions, module));
    }
}

void RawStacks::want(symbolize::Symbolizer& symbolizer) const {
    for (const auto& [id, stack] : stacks_) {
        for (const trace::Frame frame : stack.frames) {
            symbolizer.want(modules_.at(trace::frame_module(frame)), trace::frame_offset(frame));
        }
    }
}

// A place seen in many stacks is named once.
class RawStacks::Namer {
public:
    Namer(const RawStacks& raw, const symbolize::Symbolizer& symbolizer, std::vector<NamedFrame>& frames)
        : raw_(raw), symbolizer_(symbolizer), frames_(frames) {}

    NamedStack name(const Stack& raw) {
        NamedStack stack;
        stack.missing = raw.frames.empty();
        stack.truncated = (raw.flags & trace::kStackTruncated) != 0;
        stack.incomplete = (raw.flags & trace::kStackIncomplete) != 0;
        bool found = false;
        for (const trace::Frame recorded : raw.frames) {
            const auto [first, count] = place(recorded);
            for (uint32_t i = first; i < first + count; ++i) {
                if (!found && !frames_[i].vendor) {
                    stack.headline = static_cast<uint32_t>(stack.frames.size());
                    found = true;
                }
                stack.frames.push_back(i);
                stack.key += frames_[i].title() + '\n' + frames_[i].place() + '\n';
            }
            const bool library = symbolize::vendor_of_module(frames_[first].module) == symbolize::Vendor::Library;
            if (!found && stack.inside.empty() && library) stack.inside = frames_[first].module_name();
        }
        return stack;
    }

private:
    struct Places {
        uint32_t first = 0;
        uint32_t count = 0;
    };

    Places place(trace::Frame recorded) {
        const auto known = places_.find(recorded);
        if (known != places_.end()) return known->second;
        const symbolize::ModuleKey& module = raw_.modules_.at(trace::frame_module(recorded));
        const uint64_t offset = trace::frame_offset(recorded);
        const auto first = static_cast<uint32_t>(frames_.size());
        const bool vendor_module = symbolize::vendor_of_module(module.path) != symbolize::Vendor::None;
        for (const symbolize::SourceFrame& source : symbolizer_.frames(module, offset)) {
            const bool vendor = vendor_module || symbolize::vendor_of_frame(source) != symbolize::Vendor::None;
            frames_.push_back({source.function, source.file, source.line, source.inlined, module.path, offset, vendor});
        }
        if (frames_.size() == first) frames_.push_back({"", "", 0, false, module.path, offset, vendor_module});
        return places_[recorded] = {first, static_cast<uint32_t>(frames_.size()) - first};
    }

    const RawStacks& raw_;
    const symbolize::Symbolizer& symbolizer_;
    std::vector<NamedFrame>& frames_;
    std::unordered_map<trace::Frame, Places> places_;
};

std::unordered_map<uint32_t, NamedStack> RawStacks::named(const symbolize::Symbolizer& symbolizer,
                                                          std::vector<NamedFrame>& frames) const {
    Namer namer(*this, symbolizer, frames);
    std::unordered_map<uint32_t, NamedStack> stacks;
    for (const auto& [id, stack] : stacks_) stacks.emplace(id, namer.name(stack));
    return stacks;
}

}  // namespace vramtrace
