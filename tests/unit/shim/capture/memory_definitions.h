// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/mman.h>

#include <cstring>
#include <string>
#include <vector>

#include "shim/arena.h"
#include "shim/capture/stack_capture.h"
#include "trace/ring/definition_table.h"

// A table of definitions in plain memory, and what the tests ask of it.
namespace vramtrace::test {

struct ModuleView {
    trace::ModuleBody body;
    std::string build_id, path;
};

struct StackView {
    trace::StackBody body;
    std::vector<trace::Frame> frames;
};

class MemoryDefinitions {
public:
    explicit MemoryDefinitions(size_t bytes = 64U << 20) : bytes_(bytes) {
        void* pages = mmap(nullptr, bytes + trace::kDefinitionFileHeaderBytes, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        file_ = new (pages) trace::DefinitionFileHeader;
        file_->capacity = bytes;
        file_->tail = trace::kDefinitionAlignment;
        table_ = new (storage_) trace::DefinitionTable;
        table_->attach(file_, nullptr, &full_);
    }
    ~MemoryDefinitions() {
        // What is cached names ids of this table.
        shim::root_slot(shim::RootSlot::Capture)->store(nullptr);
        shim::root_slot(shim::RootSlot::Python)->store(nullptr);
        munmap(file_, bytes_ + trace::kDefinitionFileHeaderBytes);
    }
    MemoryDefinitions(const MemoryDefinitions&) = delete;
    MemoryDefinitions& operator=(const MemoryDefinitions&) = delete;

    trace::DefinitionTable& table() { return *table_; }
    uint64_t full() const { return full_.load(); }

    StackView stack(trace::DefinitionId id) const {
        StackView view{};
        const auto body = table_->body(id);
        if (table_->kind(id) != trace::DefinitionKind::Stack || body.size() < sizeof(view.body)) return view;
        memcpy(&view.body, body.data(), sizeof(view.body));
        view.frames.resize(view.body.frame_count);
        if (body.size() != sizeof(view.body) + 8 * view.frames.size()) return StackView{};
        memcpy(view.frames.data(), body.data() + sizeof(view.body), 8 * view.frames.size());
        return view;
    }
    ModuleView module(trace::DefinitionId id) const {
        ModuleView view{};
        const auto body = table_->body(id);
        if (table_->kind(id) != trace::DefinitionKind::Module || body.size() < sizeof(view.body)) return view;
        memcpy(&view.body, body.data(), sizeof(view.body));
        const auto* text = reinterpret_cast<const char*>(body.data()) + sizeof(view.body);
        view.build_id.assign(text, view.body.build_id_bytes);
        view.path.assign(text + view.body.build_id_bytes, view.body.path_bytes);
        return view;
    }
    // The addresses of a stack, module's bias + offset each. Uses no heap.
    template <typename List>
    void addresses(trace::DefinitionId id, List& list, uint16_t& flags) const {
        const auto body = table_->body(id);
        trace::StackBody stack;
        memcpy(&stack, body.data(), sizeof(stack));
        flags = stack.flags;
        for (size_t i = 0; i < stack.frame_count; ++i) {
            trace::Frame frame;
            memcpy(&frame, body.data() + sizeof(stack) + i * sizeof(frame), sizeof(frame));
            trace::ModuleBody module;
            memcpy(&module, table_->body(trace::frame_module(frame)).data(), sizeof(module));
            list.push_back(module.bias + trace::frame_offset(frame));
        }
    }
    size_t count(trace::DefinitionKind kind) const {
        size_t count = 0;
        const size_t tail = file_->tail.load();
        for (size_t at = trace::kDefinitionAlignment; at < tail;) {
            const auto id = static_cast<trace::DefinitionId>(at / trace::kDefinitionAlignment);
            if (table_->kind(id) == kind) ++count;
            at += (trace::kDefinitionAlignment + table_->body(id).size() + trace::kDefinitionAlignment - 1) &
                  ~size_t{trace::kDefinitionAlignment - 1};
        }
        return count;
    }

private:
    size_t bytes_;
    trace::DefinitionFileHeader* file_;
    std::atomic<uint64_t> full_{0};
    alignas(trace::DefinitionTable) unsigned char storage_[sizeof(trace::DefinitionTable)] = {};
    trace::DefinitionTable* table_;
};

}  // namespace vramtrace::test
