// SPDX-License-Identifier: Apache-2.0
#include "analyzer/stack_namer.h"

#include <algorithm>

#include "analyzer/symbolize/code_owner.h"
#include "analyzer/symbolize/vendor_libraries.h"

namespace vramtrace {

using symbolize::NativeRole;
using symbolize::Owner;
using symbolize::Vendor;

namespace {

// The mark is a frame's, not the place's.
trace::Frame without_mark(trace::Frame python) {
    return python & ~trace::kFrameEntered;
}

bool is_whole(uint16_t flags) {
    return (flags & (trace::kStackTruncated | trace::kStackIncomplete)) == 0;
}

}  // namespace

StackNamer::Places StackNamer::native_place(trace::Frame recorded) {
    const auto known = places_.find(recorded);
    if (known != places_.end()) return known->second;
    const symbolize::ModuleKey& module = raw_.module_of(recorded);
    const auto first = static_cast<uint32_t>(frames_.size());
    const bool vendor = symbolize::vendor_of_module(module.path) != Vendor::None;
    NamedFrame frame;
    frame.module = module.path;
    frame.offset = trace::frame_offset(recorded);
    frame.owner = symbolize::owner_of_native(module.path);
    for (const symbolize::SourceFrame& source : symbolizer_.frames(module, frame.offset)) {
        frame.function = source.function;
        frame.file = source.file;
        frame.line = source.line;
        frame.inlined = source.inlined;
        frame.vendor = vendor || symbolize::vendor_of_frame(source) != Vendor::None;
        frame.node = symbolize::autograd_node(source.function);
        frames_.push_back(frame);
    }
    if (frames_.size() == first) {
        frame.vendor = vendor;
        frames_.push_back(frame);
    }
    return places_[recorded] = {first, static_cast<uint32_t>(frames_.size()) - first};
}

StackNamer::Places StackNamer::python_place(trace::Frame recorded) {
    recorded = without_mark(recorded);
    const auto known = places_.find(recorded);
    if (known != places_.end()) return known->second;
    NamedFrame frame;
    frame.python = true;
    frame.offset = trace::frame_offset(recorded);
    if (const symbolize::PythonCode* code = raw_.code_of(recorded)) {
        frame.function = code->name;
        frame.file = frame.module = code->file;
        frame.line = code->line_at(frame.offset);
    }
    frame.owner = symbolize::owner_of_python(frame.file, frame.function, frame.line);
    frames_.push_back(std::move(frame));
    return places_[recorded] = {static_cast<uint32_t>(frames_.size()) - 1, 1};
}

void StackNamer::meet(const RawStack& stack) {
    if (stack.python.empty()) return;
    for (const trace::Frame frame : stack.native) {
        if (interpreters_.count(trace::frame_module(frame)) != 0) continue;
        const auto& names = symbolizer_.frames(raw_.module_of(frame), trace::frame_offset(frame));
        if (symbolize::is_evaluation(names)) interpreters_.insert(trace::frame_module(frame));
    }
}

NativeRole StackNamer::role_of(trace::Frame recorded) const {
    const symbolize::ModuleKey& module = raw_.module_of(recorded);
    return symbolize::native_role(module.path, symbolizer_.frames(module, trace::frame_offset(recorded)),
                                  interpreters_.count(trace::frame_module(recorded)) != 0);
}

symbolize::MergedStack StackNamer::merged(const RawStack& stack) const {
    std::vector<NativeRole> roles;
    std::vector<uint8_t> entered;
    for (const trace::Frame frame : stack.native) {
        roles.push_back(stack.python.empty() ? NativeRole::Outside : role_of(frame));
    }
    for (const trace::Frame frame : stack.python) entered.push_back((frame & trace::kFrameEntered) != 0 ? 1 : 0);
    return symbolize::merge_stacks(
        {roles, is_whole(stack.native_flags) && !stack.native_missing, entered, is_whole(stack.python_flags)});
}

std::string StackNamer::key_of(const Indices& frames) const {
    std::string key;
    for (const uint32_t index : frames) {
        const NamedFrame& frame = frames_[index];
        // Generated code lies somewhere else in every run.
        const bool nowhere = frame.function.empty() && !frame.module.empty() && frame.module[0] == '[';
        key += nowhere ? frame.module + '\n' : frame.title() + '\n' + frame.place() + '\n';
    }
    return key;
}

uint32_t StackNamer::headline_of(const Indices& frames, bool with_python) const {
    // Lower is better, of equals the innermost.
    const bool python_shown =
        std::any_of(frames.begin(), frames.end(), [&](uint32_t index) { return frames_[index].python; });
    const auto rank = [&](const NamedFrame& frame) -> unsigned {
        constexpr unsigned kLast = 9;
        if (python_shown) return frame.python ? static_cast<unsigned>(frame.owner) : kLast;
        if (frame.vendor) return kLast;
        if (with_python) return static_cast<unsigned>(frame.owner);
        return frame.node.empty() ? 1 : 0;
    };
    uint32_t best = 0;
    for (uint32_t i = 1; i < frames.size(); ++i) {
        if (rank(frames_[frames[i]]) < rank(frames_[frames[best]])) best = i;
    }
    return best;
}

// Between the driver and whoever called it.
std::string StackNamer::library_inside(const Indices& frames) const {
    for (const uint32_t index : frames) {
        const NamedFrame& frame = frames_[index];
        if (!frame.vendor) break;
        if (symbolize::vendor_of_module(frame.module) == Vendor::Library) return frame.module_name();
    }
    return {};
}

NamedStack StackNamer::name(const RawStack& raw) {
    NamedStack stack;
    stack.missing = raw.native.empty() && raw.python.empty();
    stack.truncated = ((raw.native_flags | raw.python_flags) & trace::kStackTruncated) != 0;
    stack.incomplete = ((raw.native_flags | raw.python_flags) & trace::kStackIncomplete) != 0 || raw.native_missing;
    stack.python = !raw.python.empty();
    const auto put = [&](Indices& into, Places places) {
        for (uint32_t i = 0; i < places.count; ++i) into.push_back(places.first + i);
    };
    const symbolize::MergedStack both = merged(raw);
    Indices python, native;
    for (const symbolize::MergedFrame& frame : both.frames) {
        const Places places =
            frame.python ? python_place(raw.python[frame.index]) : native_place(raw.native[frame.index]);
        put(stack.frames, places);
        if (frame.python) put(python, places);
    }
    stack.guessed = both.guessed;
    stack.key = key_of(stack.frames);
    stack.headline = headline_of(stack.frames, stack.python);
    stack.inside = library_inside(stack.frames);
    if (!stack.python) return stack;
    for (const trace::Frame frame : raw.native) put(native, native_place(frame));
    stack.native = native;
    Indices& shown = shown_ == ShownFrames::Native ? native : python;
    if (shown_ == ShownFrames::Merged || shown.empty()) return stack;
    stack.site_key = key_of({stack.frames.begin() + stack.headline, stack.frames.end()});
    stack.guessed = false;
    stack.frames = std::move(shown);
    stack.headline = headline_of(stack.frames, true);
    stack.shown_key = key_of(stack.frames);
    return stack;
}

}  // namespace vramtrace
