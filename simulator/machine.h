// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "simulator/book.h"
#include "simulator/failures.h"
#include "simulator/physical_memory.h"
#include "simulator/settings.h"

namespace vramtrace::simulator {

// The hardware part of one device. What the driver keeps of it (contexts, pools) lives in driver/.
struct Device {
    Device(int number, const Settings& settings);

    int ordinal;
    std::string name;
    std::array<unsigned char, 16> uuid;
    PhysicalMemory memory;
    AddressArena arena;
};

// The whole simulated machine. Made at first use and never destroyed: programs call the driver from exit handlers
// and static destructors.
class Machine {
public:
    enum class Phase { kNew, kRunning, kShutDown, kForked };

    static Machine& get();

    // What cuInit does once: registers exit and fork handlers.
    void start();
    Phase phase() const { return phase_.load(std::memory_order_acquire); }
    Device* device(int ordinal);
    Device* device(int ordinal) const { return const_cast<Machine*>(this)->device(ordinal); }

    // Work to do after the lock is dropped, such as functions of the program.
    void after_unlock(std::function<void()> work) { later_.push_back(std::move(work)); }
    std::vector<std::function<void()>> take_later() { return std::exchange(later_, {}); }

    Settings settings;
    std::recursive_mutex mutex;  // guards everything below and all of driver/
    Book book;
    Failures failures;
    std::vector<std::unique_ptr<Device>> devices;
    AddressArena host_arena;
    PhysicalMemory host_memory;

private:
    Machine();

    // Release by start() and the handlers, acquire in phase(): whoever sees kRunning sees the started machine.
    std::atomic<Phase> phase_{Phase::kNew};
    std::vector<std::function<void()>> later_;
};

}  // namespace vramtrace::simulator
