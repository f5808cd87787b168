// SPDX-License-Identifier: Apache-2.0
#include "simulator/ledger.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <mutex>

#include "simulator/driver/modules.h"
#include "simulator/driver/pools.h"
#include "simulator/machine.h"
#include "simulator/tag.h"

namespace vramtrace::simulator {
namespace {

constexpr std::array<const char*, VRAMTRACE_SIM_QUANTITY_COUNT> kKindNames = {
    "device",
    "pitched",
    "managed",
    "host",
    "host_registered",
    "stream_ordered",
    "pool",
    "physical",
    "physical_imported",
    "address_range",
    "mapping",
    "multicast",
    "array",
    "mipmapped_array",
    "ipc_import",
    "pool_import",
    "external_memory",
    "external_buffer",
    "external_mipmap",
    "graph_memory",
    "module",
    "context",
    "stream",
    "event",
    "graph",
    "graph_exec",
    "library",
    "device_total",
};

thread_local uint64_t thread_tag = 0;

template <class T>
size_t copy_out(const std::vector<T>& from, T* out, size_t capacity) {
    if (out != nullptr) {
        std::copy_n(from.begin(), std::min(capacity, from.size()), out);
    }
    return from.size();
}

vramtrace_sim_api_count count_of(Function function) {
    const auto& counts = Machine::get().failures.counts(function);
    vramtrace_sim_api_count result{};
    result.name = info_of(function).symbol;
    // Successes first: a call in flight then shows as a failure at worst, never as a negative number of them.
    result.successes = counts.successes.load(std::memory_order_relaxed);
    result.injected = counts.injected.load(std::memory_order_relaxed);
    result.calls = std::max(counts.calls.load(std::memory_order_relaxed), result.successes);
    result.failures = result.calls - result.successes;
    return result;
}

}  // namespace

uint64_t current_tag() {
    return thread_tag;
}

}  // namespace vramtrace::simulator

using namespace vramtrace::simulator;

extern "C" {

size_t vramtrace_sim_live(vramtrace_sim_allocation* out, size_t capacity) {
    Machine& machine = Machine::get();
    const std::lock_guard lock(machine.mutex);
    size_t i = 0;
    for (const auto& [sequence, allocation] : machine.book.live()) {
        if (out == nullptr || i == capacity) {
            break;
        }
        out[i++] = allocation;
    }
    return machine.book.live().size();
}

size_t vramtrace_sim_api_counts(vramtrace_sim_api_count* out, size_t capacity) {
    std::vector<vramtrace_sim_api_count> counts;
    for (size_t i = 0; i < kFunctionCount; ++i) {
        const auto count = count_of(static_cast<Function>(i));
        if (count.calls != 0) {
            counts.push_back(count);
        }
    }
    return copy_out(counts, out, capacity);
}

int vramtrace_sim_get_totals(int quantity, int device, vramtrace_sim_totals* out) {
    Machine& machine = Machine::get();
    const std::lock_guard lock(machine.mutex);
    const Sum* sum = machine.book.sum(quantity, device);
    const bool known = device == VRAMTRACE_SIM_ALL_DEVICES || machine.device(device) != nullptr;
    if (sum == nullptr || !known || out == nullptr) {
        return -1;
    }
    *out = sum->totals();
    return 0;
}

int vramtrace_sim_get_device_use(int device, vramtrace_sim_device_use* out) {
    Machine& machine = Machine::get();
    const std::lock_guard lock(machine.mutex);
    const Device* found = machine.device(device);
    if (found == nullptr || out == nullptr) {
        return -1;
    }
    const PhysicalMemory& memory = found->memory;
    out->total_bytes = memory.total();
    out->used_bytes = memory.used();
    out->peak_used_bytes = memory.peak();
    out->context_bytes = memory.used(Use::kContexts);
    out->pool_reserved_bytes = memory.used(Use::kPools);
    out->graph_reserved_bytes = memory.used(Use::kGraphs);
    out->pending_bytes = pending_bytes(device);
    return 0;
}

int vramtrace_sim_get_api_count(const char* name, vramtrace_sim_api_count* out) {
    const Function function = name == nullptr ? Function::kCount : function_named(name);
    if (function == Function::kCount || out == nullptr) {
        return -1;
    }
    *out = count_of(function);
    return 0;
}

size_t vramtrace_sim_bytes_by_tag(int quantity, int device, int peak, vramtrace_sim_tag_bytes* out, size_t capacity) {
    Machine& machine = Machine::get();
    const std::lock_guard lock(machine.mutex);
    const Sum* sum = machine.book.sum(quantity, device);
    return sum == nullptr ? 0 : copy_out(sum->by_tag(peak != 0), out, capacity);
}

void vramtrace_sim_set_tag(uint64_t tag) {
    thread_tag = tag;
}

uint64_t vramtrace_sim_tag(void) {
    return thread_tag;
}

void vramtrace_sim_reset_peaks(void) {
    Machine& machine = Machine::get();
    const std::lock_guard lock(machine.mutex);
    machine.book.restart_peaks();
    for (auto& device : machine.devices) {
        device->memory.restart_peak();
    }
}

int vramtrace_sim_set_failure(const char* name, uint64_t every, uint64_t after, uint64_t count, int code) {
    return name != nullptr && Machine::get().failures.set(name, every, after, count, code) ? 0 : -1;
}

void vramtrace_sim_declare_global(const void* image, const char* name, size_t bytes, int managed) {
    Machine& machine = Machine::get();
    const std::lock_guard lock(machine.mutex);
    declare_global(image, name, bytes, managed != 0);
}

void vramtrace_sim_lock(void) {
    Machine::get().mutex.lock();
}

void vramtrace_sim_unlock(void) {
    Machine::get().mutex.unlock();
}

const char* vramtrace_sim_kind_name(int kind) {
    return kind < 0 || kind >= VRAMTRACE_SIM_QUANTITY_COUNT ? nullptr : kKindNames[static_cast<size_t>(kind)];
}

}  // extern "C"
