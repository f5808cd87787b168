// SPDX-License-Identifier: Apache-2.0
#include "shim/hooks/routing.h"

#include <string.h>

#include <atomic>

#include "shim/hooks/blind_spots.h"
#include "shim/hooks/trace_start.h"
#include "shim/hooks/unhooked.h"
#include "shim/real/link_scope.h"

namespace vramtrace::shim {

namespace {

constinit std::atomic<uint32_t> epoch{1};  // counts dlcloses

struct ImageSlot {
    std::atomic<LibraryImage*> image;  // release when set, acquire by every reader
    std::atomic<uint32_t> checked;     // epoch in which the image was last found loaded
};
constinit ImageSlot driver_slots[kDriverImages];
constinit ImageSlot runtime_slots[kRuntimeImages];
// For exported wrappers whose real function lies in another preload: the calls of the driver itself.
constinit std::atomic<LibraryImage*> plain_driver{nullptr};
constexpr DriverCalls kNoCalls{};

struct Slots {
    ImageSlot* first;
    unsigned count;
    const char* const* names;
    unsigned functions;
};

Slots slots_of(Library library) {
    if (library == Library::Driver) return {driver_slots, kDriverImages, driver_names(), kDriverFunctions};
    return {runtime_slots, kRuntimeImages, runtime_names(), kRuntimeFunctions};
}

bool covers(const LibraryImage* image, const void* address) {
    const auto value = reinterpret_cast<uintptr_t>(address);
    return image != nullptr && value >= image->start && value < image->end;
}

// Whether the slot's image is still what is loaded there; asked again after each dlclose.
bool is_current(ImageSlot& slot, const LibraryImage& image, const Slots& slots) {
    const uint32_t now = epoch.load(std::memory_order_acquire);
    if (slot.checked.load(std::memory_order_relaxed) == now) return true;
    if (!still_loaded(image, slots.names)) return false;
    slot.checked.store(now, std::memory_order_relaxed);
    return true;
}

int find_image(const Slots& slots, const void* address) {
    for (unsigned i = 0; i < slots.count; ++i) {
        const auto* image = slots.first[i].image.load(std::memory_order_acquire);
        if (covers(image, address) && is_current(slots.first[i], *image, slots)) return static_cast<int>(i);
    }
    return -1;
}

// Puts `image` into a free slot, or into one whose library is gone: wrappers handed out for that one are as dead as the
// functions they stood for. -1: no room.
int place_image(const Slots& slots, LibraryImage* image) {
    for (unsigned i = 0; i < slots.count; ++i) {
        auto& slot = slots.first[i];
        LibraryImage* there = slot.image.load(std::memory_order_acquire);
        if (there != nullptr && still_loaded(*there, slots.names)) continue;
        if (slot.image.compare_exchange_strong(there, image, std::memory_order_acq_rel)) {
            slot.checked.store(epoch.load(std::memory_order_acquire), std::memory_order_relaxed);
            return static_cast<int>(i);
        }
    }
    return -1;
}

int image_of(Library library, const void* address, const char* name) {
    const Slots slots = slots_of(library);
    const int known = find_image(slots, address);
    if (known >= 0) return known;
    LibraryImage* fresh = build_image(address, slots.names, slots.functions);
    if (fresh == nullptr) return -1;
    const int won = find_image(slots, address);  // another thread may have been faster
    const int placed = won >= 0 ? won : place_image(slots, fresh);
    if (won < 0 && placed >= 0) {
        if (library == Library::Driver) {
            know_driver(*fresh);
        } else {
            know_runtime(fresh->path);
        }
        return placed;
    }
    if (placed < 0 && library == Library::Driver)
        note_blind_spot("%s is one copy of the driver more than vramtrace follows: calls into it are not recorded",
                        fresh->path[0] != '\0' ? fresh->path : name);
    discard_image(fresh);
    return placed;
}

// "cuMemAlloc" for "cuMemAlloc_v2": what a look-up would ask for is the beginning of a row's name, or all of it.
bool may_be_ours(const char* name) {
    const size_t length = strlen(name);
    for (unsigned i = 0; i < kDriverFunctions; ++i)
        if (strncmp(driver_names()[i], name, length) == 0) return true;
    return false;
}

}  // namespace

void* wrapper_for(void* real, const char* name, int version) {
    if (real == nullptr || name == nullptr || is_ours(real)) return real;
    const Name exact = name_of(name);
    const Library library =
        exact != Name::None && library_of(exact) == Library::Runtime ? Library::Runtime : Library::Driver;
    const Slots slots = slots_of(library);
    int image = find_image(slots, real);
    if (image < 0 && (exact != Name::None || may_be_ours(name))) image = image_of(library, real, name);
    const int place = image >= 0 ? slots.first[image].image.load(std::memory_order_acquire)->place_of(real) : -1;
    if (place < 0) {
        if (library == Library::Driver) note_unhooked(name, version);
        return real;
    }
    const AnyFunction wrapper =
        library == Library::Driver ? driver_wrappers[place][image] : runtime_wrappers[place][image];
    return reinterpret_cast<void*>(wrapper);
}

void* image_function(Library library, unsigned image, unsigned place) {
    return slots_of(library).first[image].image.load(std::memory_order_acquire)->functions[place];
}

const DriverCalls& driver_calls_of_image(unsigned image) {
    return driver_slots[image].image.load(std::memory_order_acquire)->calls;
}

const DriverCalls& driver_calls_of(const void* real) {
    const Slots slots = slots_of(Library::Driver);
    int image = find_image(slots, real);
    if (image < 0) image = image_of(Library::Driver, real, "libcuda.so.1");
    if (image >= 0) {
        const DriverCalls& calls = driver_calls_of_image(static_cast<unsigned>(image));
        if (calls.ctx_get_current != nullptr) return calls;
    }
    if (const auto* plain = plain_driver.load(std::memory_order_acquire)) return plain->calls;
    LibraryImage* fresh = build_driver_image(driver_names(), kDriverFunctions);
    if (fresh == nullptr) return kNoCalls;
    LibraryImage* none = nullptr;
    if (!plain_driver.compare_exchange_strong(none, fresh, std::memory_order_acq_rel)) {
        discard_image(fresh);
        return none->calls;
    }
    know_driver(*fresh);
    return fresh->calls;
}

void know_runtime_of(const void* real) {
    if (find_image(slots_of(Library::Runtime), real) < 0) image_of(Library::Runtime, real, "");
}

void libraries_may_have_gone() {
    forget_links();
    epoch.fetch_add(1, std::memory_order_release);
}

}  // namespace vramtrace::shim
