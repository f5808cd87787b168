// SPDX-License-Identifier: Apache-2.0
#include "analyzer/kept_names.h"

#include <cstring>
#include <filesystem>
#include <stdexcept>

#include "analyzer/input/open_input.h"
#include "analyzer/named_stacks.h"
#include "trace/container/input_error.h"

namespace vramtrace {

namespace {

uint64_t lost_events(const trace::SourceStatus& status) {
    ProcessAnalysis counted;
    counted.status = status;
    return counted.lost_events();
}

// Every stack is wanted, also those of releases: what a report will ask for is not known yet.
void want_all(const trace::DefinitionView& definitions, symbolize::Symbolizer& symbolizer) {
    RawStacks raw;
    definitions.for_each([&](trace::DefinitionId id, trace::DefinitionKind kind, std::span<const std::byte>) {
        // Joined stacks are made of these.
        if (kind == trace::DefinitionKind::Stack) raw.add(definitions, id);
    });
    raw.want(symbolizer);
}

}  // namespace

KeptNames keep_names(const std::string& directory, const symbolize::SearchPaths& paths, bool look_up,
                     const ProgressReport& progress) {
    const input::Input opened = input::open_input(directory);
    const std::string names_file = opened.processes[0].files.directory + "/symbols.json";
    KeptNames kept;
    symbolize::Symbolizer symbolizer(paths);
    std::string why;
    symbolizer.load(names_file, why);  // missing or damaged: made anew
    for (const input::ProcessInput& process : opened.processes) {
        try {
            const auto source = process.open();
            std::vector<trace::Event> batch;
            while (source->next_batch(batch)) {
                kept.events += batch.size();
                if (progress) progress(source->bytes_done(), source->bytes_total());
            }
            ++kept.processes;
            kept.processes_running += source->status().running ? 1 : 0;
            kept.lost += lost_events(source->status());
            if (look_up) want_all(source->definitions(), symbolizer);
        } catch (const trace::InputError& error) {
            kept.problems.emplace_back(error.what());
        }
    }
    if (!look_up) return kept;
    symbolizer.resolve();
    for (const std::string& problem : symbolizer.problems()) kept.problems.push_back(problem);
    kept.addresses = symbolizer.known_addresses();
    kept.named = symbolizer.named_addresses();
    if (!symbolizer.save(names_file, why)) throw std::runtime_error(why);
    return kept;
}

}  // namespace vramtrace
