// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <vector>

#include "shim/record/recorder.h"
#include "trace/event.h"

// Stands in for shim/record: keeps what the hooks record, in order.
struct FakeRecorder {
    std::vector<vramtrace::trace::Event> events;
    std::vector<vramtrace::shim::WithStack> stacks;
    std::map<uint32_t, std::string> definitions;  // id → body
    std::map<uint32_t, vramtrace::trace::DefinitionKind> definition_kinds;
    std::vector<uint64_t> in_flight;  // tickets; those that were left are 0
    bool open = false;
    void (*opened)() = nullptr;
    int unload_epoch = 0;

    void reset();
    std::vector<vramtrace::trace::EventKind> kinds() const;
    // The only event of this kind; fails the test if there is none or more.
    vramtrace::trace::Event one(vramtrace::trace::EventKind kind) const;
    size_t count(vramtrace::trace::EventKind kind) const;
};
extern FakeRecorder recorder;
