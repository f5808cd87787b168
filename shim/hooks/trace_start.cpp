// SPDX-License-Identifier: Apache-2.0
#include "shim/hooks/trace_start.h"

#include <stdio.h>
#include <string.h>

#include <atomic>

#include "shim/hooks/call_scope.h"
#include "shim/hooks/function_table.h"
#include "shim/record/recorder.h"
#include "trace/definition.h"

namespace vramtrace::shim {

namespace {

constexpr unsigned kMaxDevices = 64;
constexpr unsigned kMaxFacts = 12;

// Filled by whoever won `state` from 0 to 1, readable once it is 2 (release there, acquire by readers).
struct KnownDevice {
    std::atomic<uint8_t> state;
    trace::DeviceBody body;
    char name[96];
};
struct KnownFact {
    std::atomic<uint8_t> state;
    uint16_t bytes;
    char text[288];  // "key\0value"
};
constinit KnownDevice devices[kMaxDevices];
constinit KnownFact facts[kMaxFacts];
constinit std::atomic<uint64_t> known_devices{0};
constinit std::atomic<bool> installed{false};

void define_device(const KnownDevice& device) {
    char body[sizeof device.body + sizeof device.name];
    memcpy(body, &device.body, sizeof device.body);
    memcpy(body + sizeof device.body, device.name, device.body.name_bytes);
    define(trace::DefinitionKind::Device, body, sizeof device.body + device.body.name_bytes);
}

void opened() {
    const NamesText names = names_text();
    if (define(trace::DefinitionKind::Names, names.text, names.bytes) == 0) count_loss(trace::Loss::DefinitionFull);
    for (const auto& device : devices)
        if (device.state.load(std::memory_order_acquire) == 2) define_device(device);
    for (const auto& fact : facts)
        if (fact.state.load(std::memory_order_acquire) == 2) define(trace::DefinitionKind::Fact, fact.text, fact.bytes);
}

void know_fact(const char* key, const char* value) {
    char text[sizeof KnownFact::text];
    const size_t key_bytes = strlen(key) + 1;
    memcpy(text, key, key_bytes);
    size_t value_bytes = strlen(value);
    if (value_bytes > sizeof text - key_bytes) value_bytes = sizeof text - key_bytes;
    memcpy(text + key_bytes, value, value_bytes);
    const auto bytes = static_cast<uint16_t>(key_bytes + value_bytes);
    for (auto& fact : facts) {
        uint8_t free = 0;
        if (fact.state.compare_exchange_strong(free, 1, std::memory_order_relaxed)) {
            memcpy(fact.text, text, bytes);
            fact.bytes = bytes;
            fact.state.store(2, std::memory_order_release);  // pairs with the acquire in opened()
            if (recording()) define(trace::DefinitionKind::Fact, text, bytes);
            return;
        }
        if (fact.state.load(std::memory_order_acquire) == 2 && fact.bytes == bytes &&
            memcmp(fact.text, text, bytes) == 0)
            return;
    }
}

}  // namespace

void install_opened_callback() {
    if (installed.load(std::memory_order_relaxed)) return;
    set_opened_callback(opened);
    installed.store(true, std::memory_order_relaxed);
}

void know_device(const DriverCalls& driver, uint8_t ordinal) {
    if (ordinal >= kMaxDevices) return;
    const uint64_t bit = 1ULL << ordinal;
    if ((known_devices.load(std::memory_order_relaxed) & bit) != 0) return;
    auto& device = devices[ordinal];
    uint8_t fresh = 0;
    if (!device.state.compare_exchange_strong(fresh, 1, std::memory_order_relaxed)) return;
    install_opened_callback();
    const OwnCalls own;
    device.body.ordinal = ordinal;
    size_t bytes = 0;
    if (driver.device_total_mem != nullptr && driver.device_total_mem(&bytes, ordinal) == kSuccess)
        device.body.total_bytes = bytes;
    if (driver.device_get_name == nullptr ||
        driver.device_get_name(device.name, sizeof device.name - 1, ordinal) != kSuccess)
        device.name[0] = '\0';
    device.body.name_bytes = static_cast<uint32_t>(strnlen(device.name, sizeof device.name));
    const auto uuid = driver.device_get_uuid_mig != nullptr ? driver.device_get_uuid_mig : driver.device_get_uuid;
    char id[16] = {};
    if (uuid != nullptr && uuid(id, ordinal) == kSuccess) memcpy(device.body.uuid, id, sizeof id);
    device.state.store(2, std::memory_order_release);  // pairs with the acquire in opened()
    known_devices.fetch_or(bit, std::memory_order_relaxed);
    if (recording()) define_device(device);
}

void know_driver(const LibraryImage& image) {
    know_fact(trace::fact::kDriverPath, image.path);
    int version = 0;
    if (image.calls.driver_get_version == nullptr || image.calls.driver_get_version(&version) != kSuccess) return;
    char text[16];
    snprintf(text, sizeof text, "%d", version);
    know_fact(trace::fact::kDriverVersion, text);
}

void know_runtime(const char* path) {
    know_fact(trace::fact::kCudart, path);
}

}  // namespace vramtrace::shim
