// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <vector>

#include "analyzer/verdict/verdicts.h"
#include "tests/support/event_builder.h"
#include "tests/support/vector_source.h"

// A job made of events, accounted in both passes and judged. Stack N reads "site_N at job.cpp:N" unless named otherwise.
namespace vramtrace::test {

class JudgedJob {
public:
    struct Names {
        std::string function;
        std::string inside;  // library of NVIDIA's
        std::string callee;  // a frame further in, of somebody else's library
    };
    std::map<uint32_t, Names> names;
    EventBuilder job;

    std::vector<verdict::Finding> judge() {
        process_ = ProcessAnalysis();
        accounts::Accountant first;
        first.add(job.events());
        first.finish({});
        process_.accounts = first.accounts();
        if (const auto marker = accounts::find_marker(process_.accounts)) {
            accounts::Accountant second;
            accounts::IterationCounts counts(process_.accounts, *marker);
            second.attach(counts);
            second.add(job.events());
            second.finish({});
            process_.iterations = counts.result(second);
        }
        for (const trace::Event& event : job.events()) name(event.stack);
        return verdict::judge(process_);
    }
    const ProcessAnalysis& process() const { return process_; }

private:
    void frame(NamedStack& stack, const std::string& function, uint32_t line, bool vendor) {
        NamedFrame frame;
        frame.function = function;
        frame.file = "/src/job.cpp";
        frame.line = line;
        frame.module = "/bin/job";
        frame.vendor = vendor;
        stack.frames.push_back(static_cast<uint32_t>(process_.frames.size()));
        stack.key += function + '\n';
        process_.frames.push_back(frame);
    }
    void name(uint32_t id) {
        if (id == 0 || process_.stacks.count(id) != 0) return;
        const Names& given = names[id];
        NamedStack stack;
        if (!given.callee.empty()) frame(stack, given.callee, 1, true);
        stack.headline = static_cast<uint32_t>(stack.frames.size());
        const bool named = !given.function.empty();
        frame(stack, named ? given.function : "site_" + std::to_string(id), named ? 1000 : id, false);
        stack.inside = given.inside;
        process_.stacks[id] = stack;
    }

    ProcessAnalysis process_;
};

}  // namespace vramtrace::test
