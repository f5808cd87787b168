// SPDX-License-Identifier: Apache-2.0
#include "shim/hooks/unhooked.h"

#include <string.h>

#include <atomic>

#include "shim/hooks/call.h"
#include "shim/hooks/function_table.h"

namespace vramtrace::shim {

namespace {

// state: 0 free, 1 being filled, 2 noted, 3 recorded.
struct NotedName {
    std::atomic<uint8_t> state;
    int version;
    char name[64];
};
constexpr unsigned kMaxNoted = 48;
constinit NotedName noted[kMaxNoted];
constinit std::atomic<uint32_t> waiting{0};

bool contains_any(const char* name, const char* const* words, unsigned count) {
    for (unsigned i = 0; i < count; ++i)
        if (strstr(name, words[i]) != nullptr) return true;
    return false;
}

}  // namespace

bool looks_like_allocation(const char* name) {
    static constexpr const char* kThings[] = {"Mem", "Multicast", "Array", "Ipc"};
    static constexpr const char* kDeeds[] = {"Alloc", "Free",    "Create", "Destroy", "Release", "Retain", "Import",
                                             "Map",   "Reserve", "Bind",   "Unbind",  "Open",    "Close",  "Register"};
    // Not memory of the device: host-side semaphores, memory operations in streams, copies, attributes of things.
    static constexpr const char* kOthers[] = {"Semaphore", "BatchMemOp", "Memcpy", "Memset", "Event", "TexRef", "Get"};
    const bool is_driver = name[0] == 'c' && name[1] == 'u' && name[2] >= 'A' && name[2] <= 'Z';
    return is_driver && contains_any(name, kThings, sizeof kThings / sizeof *kThings) &&
           contains_any(name, kDeeds, sizeof kDeeds / sizeof *kDeeds) &&
           !contains_any(name, kOthers, sizeof kOthers / sizeof *kOthers);
}

void note_unhooked(const char* name, int version) {
    if (!looks_like_allocation(name) || is_passed(name) || strlen(name) >= sizeof NotedName::name) return;
    for (auto& entry : noted) {
        uint8_t free = 0;
        if (entry.state.compare_exchange_strong(free, 1, std::memory_order_relaxed)) {
            strcpy(entry.name, name);
            entry.version = version;
            entry.state.store(2, std::memory_order_release);  // pairs with the acquires here and in report_unhooked
            waiting.fetch_add(1, std::memory_order_relaxed);
            return;
        }
        if (entry.state.load(std::memory_order_acquire) >= 2 && strcmp(entry.name, name) == 0) return;
    }
}

void report_unhooked() {
    if (waiting.load(std::memory_order_relaxed) == 0) return;
    for (auto& entry : noted) {
        uint8_t ready = 2;
        if (!entry.state.compare_exchange_strong(ready, 3, std::memory_order_acquire)) continue;
        waiting.fetch_sub(1, std::memory_order_relaxed);
        trace::Event event;
        event.kind = trace::EventKind::Unhooked;
        event.aux = define(trace::DefinitionKind::String, entry.name, static_cast<uint32_t>(strlen(entry.name)));
        event.size = static_cast<uint64_t>(entry.version > 0 ? entry.version : 0);
        record_plain(event, OpensRing::No, WithStack::No);
    }
}

}  // namespace vramtrace::shim
