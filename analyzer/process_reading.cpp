// SPDX-License-Identifier: Apache-2.0
#include <cstring>

#include "analyzer/accounts/accountant.h"
#include "analyzer/analysis.h"
#include "analyzer/print/units.h"
#include "analyzer/process_facts.h"
#include "analyzer/symbolize/vendor_libraries.h"

namespace vramtrace {

namespace {

using Bytes = std::span<const std::byte>;

struct RawStack {
    std::vector<trace::Frame> frames;
    uint16_t flags = 0;
    bool missing = false;
};

struct RawModule {
    symbolize::ModuleKey key;
    bool python = false;
};

RawStack read_stack(const trace::DefinitionView& definitions, uint32_t id) {
    RawStack stack;
    const Bytes body = definitions.body(id, trace::DefinitionKind::Stack);
    trace::StackBody head;
    if (id == 0 || body.size() < sizeof head) {
        stack.missing = true;
        return stack;
    }
    std::memcpy(&head, body.data(), sizeof head);
    const size_t held = (body.size() - sizeof head) / sizeof(trace::Frame);
    stack.frames.resize(std::min<size_t>(head.frame_count, held));
    if (!stack.frames.empty()) {
        std::memcpy(stack.frames.data(), body.data() + sizeof head, stack.frames.size() * sizeof(trace::Frame));
    }
    stack.flags = head.flags;
    stack.missing = stack.frames.empty();
    return stack;
}

RawModule read_module(const trace::DefinitionView& definitions, trace::DefinitionId id) {
    RawModule module;
    Bytes body = definitions.body(id, trace::DefinitionKind::Module);
    trace::ModuleBody head;
    if (body.size() < sizeof head) {
        module.python = !definitions.body(id, trace::DefinitionKind::CodeObject).empty();
        module.key.path = module.python ? "[python]" : "[unknown]";
        return module;
    }
    std::memcpy(&head, body.data(), sizeof head);
    body = body.subspan(sizeof head);
    const size_t id_bytes = std::min<size_t>(head.build_id_bytes, body.size());
    module.key.build_id = symbolize::build_id_text(body.data(), id_bytes);
    body = body.subspan(id_bytes);
    const size_t path_bytes = std::min<size_t>(head.path_bytes, body.size());
    module.key.path.assign(reinterpret_cast<const char*>(body.data()), path_bytes);
    return module;
}

// Turns recorded frames into named ones; a place seen in many stacks is kept once.
class Namer {
public:
    Namer(const std::map<trace::DefinitionId, RawModule>& modules, const symbolize::Symbolizer& symbolizer,
          std::vector<NamedFrame>& frames)
        : modules_(modules), symbolizer_(symbolizer), frames_(frames) {}

    NamedStack name(const RawStack& raw) {
        NamedStack stack;
        stack.missing = raw.missing;
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
            if (!found && stack.inside.empty() && count != 0 &&
                symbolize::vendor_of_module(frames_[first].module) == symbolize::Vendor::Library) {
                stack.inside = frames_[first].module_name();
            }
        }
        return stack;
    }

private:
    std::pair<uint32_t, uint32_t> place(trace::Frame recorded) {
        const auto known = places_.find(recorded);
        if (known != places_.end()) return known->second;
        const auto module = modules_.find(trace::frame_module(recorded));
        static const RawModule kUnknown{{"[unknown]", ""}, false};
        const RawModule& raw = module != modules_.end() ? module->second : kUnknown;
        const uint64_t offset = trace::frame_offset(recorded);
        const auto first = static_cast<uint32_t>(frames_.size());
        const bool vendor_module = symbolize::vendor_of_module(raw.key.path) != symbolize::Vendor::None;
        for (const symbolize::SourceFrame& source : symbolizer_.frames(raw.key, offset)) {
            const bool vendor = vendor_module || symbolize::vendor_of_frame(source) != symbolize::Vendor::None;
            frames_.push_back({source.function, source.file, source.line, source.inlined, raw.key.path, offset, vendor});
        }
        if (frames_.size() == first) frames_.push_back({"", "", 0, false, raw.key.path, offset, vendor_module});
        const auto count = static_cast<uint32_t>(frames_.size()) - first;
        return places_[recorded] = {first, count};
    }

    const std::map<trace::DefinitionId, RawModule>& modules_;
    const symbolize::Symbolizer& symbolizer_;
    std::vector<NamedFrame>& frames_;
    std::unordered_map<trace::Frame, std::pair<uint32_t, uint32_t>> places_;
};

}  // namespace

struct ProcessReading::Parts {
    ProcessAnalysis analysis;
    std::unordered_map<uint32_t, RawStack> stacks;
    std::map<trace::DefinitionId, RawModule> modules;
};

ProcessReading::~ProcessReading() = default;
ProcessReading::ProcessReading(ProcessReading&&) noexcept = default;

ProcessReading::ProcessReading(trace::EventSource& source, symbolize::Symbolizer& symbolizer, const ProgressReport& progress)
    : parts_(std::make_unique<Parts>()) {
    accounts::Accountant accountant;
    std::vector<trace::Event> batch;
    uint64_t expected = 0;
    uint64_t last_time = 0;
    while (source.next_batch(batch)) {
        accountant.add(batch);
        for (const trace::Event& event : batch) {
            if (event.sequence != expected && !parts_->analysis.first_gap) parts_->analysis.first_gap = last_time;
            expected = event.sequence + 1;
            last_time = event.time;
        }
        if (progress) progress(source.bytes_done(), source.bytes_total());
    }
    ProcessAnalysis& analysis = parts_->analysis;
    analysis.status = source.status();
    accountant.finish(analysis.status);
    analysis.accounts = accountant.accounts();
    const trace::DefinitionView& definitions = source.definitions();
    analysis.facts = read_facts(definitions);
    analysis.names = read_names(definitions);

    // Only stacks that a number hangs on need names: those of sites.
    for (const accounts::Site& site : analysis.accounts.sites) {
        const auto [at, fresh] = parts_->stacks.try_emplace(site.key.stack);
        if (!fresh) continue;
        at->second = read_stack(definitions, site.key.stack);
        for (const trace::Frame frame : at->second.frames) {
            const trace::DefinitionId id = trace::frame_module(frame);
            auto module = parts_->modules.find(id);
            if (module == parts_->modules.end()) module = parts_->modules.emplace(id, read_module(definitions, id)).first;
            symbolizer.want(module->second.key, trace::frame_offset(frame));
        }
    }
    for (const accounts::TextNote& note : analysis.accounts.notes) {
        const Bytes body = definitions.body(note.text, trace::DefinitionKind::String);
        analysis.texts.emplace(note.text, std::string(reinterpret_cast<const char*>(body.data()), body.size()));
    }
}

ProcessAnalysis ProcessReading::named(const symbolize::Symbolizer& symbolizer) && {
    ProcessAnalysis analysis = std::move(parts_->analysis);
    Namer namer(parts_->modules, symbolizer, analysis.frames);
    for (const auto& [id, raw] : parts_->stacks) analysis.stacks.emplace(id, namer.name(raw));
    return analysis;
}

}  // namespace vramtrace
