// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

namespace vramtrace::simulator {

// The VRAMTRACE_SIM_* environment, read once when the machine is first needed. docs/simulator.md has the table.
struct Settings {
    int devices = 1;
    uint64_t memory_bytes = uint64_t{8} << 30;  // of each device
    uint64_t context_bytes = 0;
    uint64_t module_bytes = 0;  // 0: as many as the image
    uint64_t global_bytes = 64 << 10;
    uint64_t host_bytes = uint64_t{256} << 30;
    std::string name = "Simulated CUDA Device";
    std::string failures;
    std::string ledger_path;
    int driver_version = 13000;
    bool finish_at_sync = false;
    bool deinitialize_at_exit = false;

    static Settings from_environment();
};

// "512M", "8GiB", "123": bytes; `fallback` if the text is no size.
uint64_t parse_size(const char* text, uint64_t fallback);

}  // namespace vramtrace::simulator
