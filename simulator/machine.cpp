// SPDX-License-Identifier: Apache-2.0
#include "simulator/machine.h"

#include <pthread.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <new>

namespace vramtrace::simulator {
namespace {

void write_ledger_at_exit() {
    Machine& machine = Machine::get();
    std::string path = machine.settings.ledger_path;
    if (path.empty() || machine.phase() == Machine::Phase::kForked) {
        return;
    }
    const size_t place = path.find("%p");
    if (place != std::string::npos) {
        path.replace(place, 2, std::to_string(getpid()));
    }
    if (vramtrace_sim_dump(path.c_str()) != 0) {
        std::fprintf(stderr, "simulated CUDA: cannot write the ledger to %s\n", path.c_str());
    }
}

}  // namespace

Device::Device(int number, const Settings& settings)
    : ordinal(number), name(settings.name), uuid{}, memory(settings.memory_bytes), arena(settings.memory_bytes) {
    const char text[] = "vramtrace-sim";
    for (size_t i = 0; i + 1 < sizeof text; ++i) {
        uuid[i] = static_cast<unsigned char>(text[i]);
    }
    uuid[15] = static_cast<unsigned char>(number);
}

Machine::Machine()
    : settings(Settings::from_environment()), host_arena(settings.host_bytes), host_memory(settings.host_bytes) {
    for (int i = 0; i < settings.devices; ++i) {
        devices.push_back(std::make_unique<Device>(i, settings));
    }
    const std::string bad = failures.read(settings.failures);
    if (!bad.empty()) {
        std::fprintf(stderr, "simulated CUDA: VRAMTRACE_SIM_FAIL: cannot read \"%s\"\n", bad.c_str());
    }
}

Machine& Machine::get() {
    static Machine* const machine = new Machine;
    return *machine;
}

void Machine::start() {
    Phase expected = Phase::kNew;
    if (!phase_.compare_exchange_strong(expected, Phase::kRunning, std::memory_order_acq_rel)) {
        return;
    }
    // A forked child cannot use its parent's device, as on the real driver; it must not find the lock taken either.
    pthread_atfork([] { get().mutex.lock(); }, [] { get().mutex.unlock(); },
                   [] {
                       Machine& machine = get();
                       new (&machine.mutex) std::recursive_mutex;  // the child is another owner: it cannot unlock
                       machine.phase_.store(Phase::kForked, std::memory_order_release);
                   });
    std::atexit([] {
        Machine& machine = get();
        Phase running = Phase::kRunning;
        if (machine.settings.deinitialize_at_exit) {
            machine.phase_.compare_exchange_strong(running, Phase::kShutDown, std::memory_order_acq_rel);
        }
    });
}

Device* Machine::device(int ordinal) {
    if (ordinal < 0 || static_cast<size_t>(ordinal) >= devices.size()) {
        return nullptr;
    }
    return devices[static_cast<size_t>(ordinal)].get();
}

// The library's own destructor runs after the exit handlers of the program and of libraries loaded later, so the
// ledger shows what is left when everybody had the chance to free.
[[gnu::destructor]] void finish() {
    write_ledger_at_exit();
}

}  // namespace vramtrace::simulator
