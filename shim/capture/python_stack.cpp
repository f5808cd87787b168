// SPDX-License-Identifier: Apache-2.0
#include "shim/capture/python_stack.h"

#include <cstring>

#include "shim/capture/python_chain.h"
#include "trace/ring/definition_table.h"

namespace vramtrace::shim {
namespace {

bool may_be_interrupted(const Interpreter& interpreter, const NativeStack& native) {
    if (native.interrupted) return true;
    if (native.flags == 0 && native.loss == trace::Loss::Count && native.count != 0) [[likely]]
        return false;
    const trace::DefinitionId module = interpreter.module->definition.load(std::memory_order_relaxed);
    for (unsigned i = 0; i < native.count; ++i) {
        if (trace::frame_module(native.frames[i]) == module) return false;
    }
    return true;
}

}  // namespace

template <typename Memory>
PythonStack PythonStacks::walk(const Interpreter& interpreter, uintptr_t thread_state, StackTable& stacks,
                               trace::DefinitionTable& definitions, PythonSpace& space, unsigned depth) {
    using Chain = PythonChain<Memory>;
    Memory memory;
    Chain chain(interpreter.layout, interpreter.types.code, memory);
    if (!chain.begin(thread_state)) return {};
    trace::Frame* frames = space.frames[1 - space.last];
    unsigned kept = 0, run = 0;  // run: the first frame of the evaluation that we are in
    uint16_t flags = 0;
    const auto end_run = [&] {
        if (kept > run) frames[kept - 1] |= trace::kFrameEntered;
        run = kept;
    };
    // Entries without a frame between them are no more than the frames that may be skipped.
    constexpr unsigned kMostEntries = 4096;
    for (unsigned entries = 0; entries < kMostEntries;) {
        PythonPlace place;
        const typename Chain::Next next = chain.next(place);
        if (next == Chain::Next::Frame) [[likely]] {
            if (kept == depth) {
                flags |= trace::kStackTruncated;
                break;
            }
            CodeFingerprint fingerprint;
            if (!fingerprint.read(place.code, interpreter.layout, memory)) {
                flags |= trace::kStackIncomplete;
                break;
            }
            const trace::DefinitionId id = codes_.id_of(fingerprint, interpreter.layout, definitions, space.scratch);
            if (id == 0) return {0, trace::Loss::DefinitionFull};
            frames[kept++] = trace::make_frame(id, place.offset);
            if (place.entered) end_run();
            continue;
        }
        if (next == Chain::Next::Broken) {
            flags |= trace::kStackIncomplete;
            break;
        }
        end_run();
        if (next == Chain::Next::End) break;
        ++entries;
    }
    if (kept == 0) return {};
    if (space.last_id != 0 && space.last_count == kept && space.last_flags == flags &&
        memcmp(frames, space.frames[space.last], kept * sizeof(trace::Frame)) == 0)
        return {space.last_id, trace::Loss::Count};
    const trace::DefinitionId id = stacks.intern(definitions, frames, kept, flags, hash_frames(frames, kept));
    space.last = 1 - space.last;
    space.last_count = kept;
    space.last_flags = flags;
    space.last_id = id;
    return {id, id == 0 ? trace::Loss::DefinitionFull : trace::Loss::Count};
}

PythonStack PythonStacks::take(const ModuleList& modules, StackTable& stacks, trace::DefinitionTable& definitions,
                               PythonSpace& space, unsigned depth, const NativeStack& native) {
    if (depth < 1) depth = 1;
    if (depth > PythonSpace::kFrames) depth = PythonSpace::kFrames;
    if (!may_have_frames(modules, definitions)) return {};
    for (size_t i = 0; Interpreter* interpreter = interpreters_.get(i); ++i) {
        // acquire, pairs with settle().
        InterpreterState state = interpreter->state.load(std::memory_order_acquire);
        if (state == InterpreterState::Off) continue;
        const uintptr_t thread_state = interpreter->thread_state();
        if (thread_state == 0) continue;
        const bool interrupted = may_be_interrupted(*interpreter, native);
        if (state == InterpreterState::Untested) {
            unsigned frames = 0;
            const char* wrong = test_python_layout(interpreter->layout, interpreter->types, thread_state, frames);
            // What a handler finds half made is no proof of a wrong layout.
            if (wrong == nullptr ? frames == 0 : interrupted) continue;
            interpreter->settle(wrong == nullptr ? InterpreterState::Ready : InterpreterState::Off, wrong, definitions);
            state = interpreter->state.load(std::memory_order_acquire);
            if (state == InterpreterState::Off) continue;
        }
        const PythonStack stack =
            interrupted ? walk<SafeMemory>(*interpreter, thread_state, stacks, definitions, space, depth)
                        : walk<PlainMemory>(*interpreter, thread_state, stacks, definitions, space, depth);
        if (stack.id != 0 || stack.loss != trace::Loss::Count) return stack;
    }
    return {};
}

trace::DefinitionId PythonStacks::join(trace::DefinitionId native, trace::DefinitionId python,
                                       trace::DefinitionTable& definitions, PythonSpace& space) {
    if (space.joined_id != 0 && space.joined_native == native && space.joined_python == python) return space.joined_id;
    const trace::JoinedStackBody body{native, python};
    uint64_t hash = (static_cast<uint64_t>(native) << 32 | python) * 0x9e3779b97f4a7c15ULL;
    hash ^= hash >> 32;
    const auto equal = [&](trace::DefinitionId id) {
        const auto known = definitions.body(id);
        return known.size() == sizeof(body) && memcmp(known.data(), &body, sizeof(body)) == 0;
    };
    trace::DefinitionId id = joined_.find(hash, equal);
    if (id == 0 && joined_.has_room()) {
        id = definitions.append(trace::DefinitionKind::JoinedStack, {{&body, sizeof(body)}});
        if (id != 0) id = joined_.insert(hash, id, equal);
    }
    if (id != 0) {
        space.joined_native = native;
        space.joined_python = python;
        space.joined_id = id;
    }
    return id;
}

}  // namespace vramtrace::shim
