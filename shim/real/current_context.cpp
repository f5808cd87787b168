// SPDX-License-Identifier: Apache-2.0
#include "shim/real/current_context.h"

#include <atomic>

namespace vramtrace::shim {

namespace {

// Written under `changing` only, read without it: `handle` is stored last (release) and an entry in use never changes
// but by being forgotten.
struct KnownContext {
    std::atomic<uintptr_t> handle;  // 0 = free
    std::atomic<uint32_t> place;    // device << 16 | index
    std::atomic<int> attachments;
    std::atomic<bool> primary;
};
constexpr int kMaxContexts = 256;
constexpr int kMaxDevices = 256;
constinit KnownContext contexts[kMaxContexts];
constinit std::atomic<int> used_contexts{0};  // entries beyond it were never used
constinit std::atomic<uint32_t> next_index{1};
constinit std::atomic<int> primary_references[kMaxDevices];
constinit std::atomic<bool> changing{false};

// Held for a few stores. A thread that cannot have it (a signal handler on top of its holder) does without the table.
class Change {
public:
    Change() {
        for (int i = 0; i < 100'000 && !held_; ++i) held_ = !changing.exchange(true, std::memory_order_acquire);
    }
    ~Change() {
        if (held_) changing.store(false, std::memory_order_release);
    }
    Change(const Change&) = delete;
    Change& operator=(const Change&) = delete;
    bool held() const { return held_; }

private:
    bool held_ = false;
};

Place place_of(const KnownContext& known, Handle handle) {
    const uint32_t packed = known.place.load(std::memory_order_relaxed);
    Place place;
    place.handle = handle;
    place.device = static_cast<uint8_t>(packed >> 16);
    place.context = static_cast<uint16_t>(packed);
    return place;
}

KnownContext* find(Handle handle) {
    const auto wanted = reinterpret_cast<uintptr_t>(handle);
    const int used = used_contexts.load(std::memory_order_acquire);  // pairs with insert()
    for (int i = 0; i < used; ++i)
        if (contexts[i].handle.load(std::memory_order_acquire) == wanted) return &contexts[i];  // pairs with insert()
    return nullptr;
}

bool insert(const Place& place, bool primary) {  // with `changing` held
    for (int i = 0; i < kMaxContexts; ++i) {
        auto& entry = contexts[i];
        if (entry.handle.load(std::memory_order_relaxed) != 0) continue;
        entry.place.store(uint32_t{place.device} << 16 | place.context, std::memory_order_relaxed);
        entry.attachments.store(0, std::memory_order_relaxed);
        entry.primary.store(primary, std::memory_order_relaxed);
        entry.handle.store(reinterpret_cast<uintptr_t>(place.handle), std::memory_order_release);
        if (i >= used_contexts.load(std::memory_order_relaxed)) used_contexts.store(i + 1, std::memory_order_release);
        return true;
    }
    return false;
}

uint8_t as_device(Ordinal device) {
    return device >= 0 && device < kPlaceWithoutDevice ? static_cast<uint8_t>(device) : kPlaceWithoutDevice;
}

}  // namespace

Place know_context(Handle handle, Ordinal device, bool primary) {
    Place place;
    place.handle = handle;
    place.device = as_device(device);
    if (handle == nullptr) return place;
    const Change change;
    if (const auto* known = find(handle)) return place_of(*known, handle);
    if (!change.held() || next_index.load(std::memory_order_relaxed) > UINT16_MAX) return place;
    place.context = static_cast<uint16_t>(next_index.load(std::memory_order_relaxed));
    if (!insert(place, primary)) {
        place.context = 0;
        return place;
    }
    next_index.fetch_add(1, std::memory_order_relaxed);
    place.first_seen = true;
    return place;
}

Place known_current_place(const DriverCalls& driver) {
    Handle handle = nullptr;
    if (driver.ctx_get_current == nullptr || driver.ctx_get_current(&handle) != kSuccess || handle == nullptr)
        return {};
    if (const auto* known = find(handle)) return place_of(*known, handle);
    Place place;
    place.handle = handle;
    return place;
}

Place current_place(const DriverCalls& driver) {
    const Place known = known_current_place(driver);
    if (known.handle == nullptr || known.context != 0) return known;
    Ordinal device = -1;
    if (driver.ctx_get_device == nullptr || driver.ctx_get_device(&device) != kSuccess) device = -1;
    // Its creation was not seen: most likely a primary context.
    return know_context(known.handle, device, true);
}

Place forget_context(Handle handle) {
    const Change change;
    auto* known = change.held() ? find(handle) : nullptr;
    if (known == nullptr) {
        Place place;
        place.handle = handle;
        return place;
    }
    const Place place = place_of(*known, handle);
    known->handle.store(0, std::memory_order_release);
    return place;
}

void restore_context(const Place& place, bool primary) {
    if (place.context == 0) return;
    const Change change;
    if (change.held() && find(place.handle) == nullptr) insert(place, primary);
}

Place forget_primary(Ordinal device) {
    const Change change;
    const int used = used_contexts.load(std::memory_order_acquire);
    for (int i = 0; change.held() && i < used; ++i) {
        const uintptr_t handle = contexts[i].handle.load(std::memory_order_relaxed);
        if (handle == 0 || !contexts[i].primary.load(std::memory_order_relaxed)) continue;
        const Place place = place_of(contexts[i], reinterpret_cast<Handle>(handle));
        if (place.device != as_device(device)) continue;
        contexts[i].handle.store(0, std::memory_order_release);
        return place;
    }
    Place place;
    place.device = as_device(device);
    return place;
}

int count_primary_references(Ordinal device, int change) {
    if (device < 0 || device >= kMaxDevices) return 0;
    return primary_references[device].fetch_add(change, std::memory_order_relaxed) + change;
}

int count_attachments(Handle handle, int change) {
    auto* known = find(handle);
    return known != nullptr ? known->attachments.fetch_add(change, std::memory_order_relaxed) + change : change;
}

}  // namespace vramtrace::shim
