// SPDX-License-Identifier: Apache-2.0
#include "simulator/settings.h"

#include <algorithm>
#include <cctype>
#include <cstdlib>

namespace vramtrace::simulator {
namespace {

constexpr uint64_t kMiB = uint64_t{1} << 20;
constexpr int kMaxDevices = 64;

bool flag(const char* name) {
    const char* text = std::getenv(name);
    return text != nullptr && *text != '\0' && std::string(text) != "0";
}

std::string text_of(const char* name, const std::string& fallback) {
    const char* text = std::getenv(name);
    return text != nullptr && *text != '\0' ? text : fallback;
}

}  // namespace

uint64_t parse_size(const char* text, uint64_t fallback) {
    if (text == nullptr || std::isdigit(static_cast<unsigned char>(*text)) == 0) {
        return fallback;
    }
    char* end = nullptr;
    const uint64_t number = std::strtoull(text, &end, 10);
    int shift = 0;
    switch (std::toupper(static_cast<unsigned char>(*end))) {
        case 'K':
            shift = 10;
            break;
        case 'M':
            shift = 20;
            break;
        case 'G':
            shift = 30;
            break;
        case 'T':
            shift = 40;
            break;
        case 'B':
        case '\0':
            break;
        default:
            return fallback;
    }
    if (shift != 0 && number > (UINT64_MAX >> shift)) {
        return fallback;
    }
    return number << shift;
}

Settings Settings::from_environment() {
    Settings settings;
    settings.devices = static_cast<int>(
        std::min<uint64_t>(parse_size(std::getenv("VRAMTRACE_SIM_DEVICES"), 1), static_cast<uint64_t>(kMaxDevices)));
    // A device is made of whole pages.
    settings.memory_bytes =
        std::max(parse_size(std::getenv("VRAMTRACE_SIM_MEMORY"), settings.memory_bytes) / (2 * kMiB), uint64_t{1}) * 2 *
        kMiB;
    const uint64_t usual = std::min(300 * kMiB, settings.memory_bytes / 16);
    const char* context = std::getenv("VRAMTRACE_SIM_CONTEXT_MIB");
    settings.context_bytes = context == nullptr ? usual : parse_size(context, usual / kMiB) * kMiB;
    settings.module_bytes = parse_size(std::getenv("VRAMTRACE_SIM_MODULE_BYTES"), 0);
    settings.global_bytes = parse_size(std::getenv("VRAMTRACE_SIM_GLOBAL_BYTES"), settings.global_bytes);
    settings.host_bytes = parse_size(std::getenv("VRAMTRACE_SIM_HOST_MEMORY"), settings.host_bytes);
    settings.name = text_of("VRAMTRACE_SIM_NAME", settings.name);
    settings.failures = text_of("VRAMTRACE_SIM_FAIL", "");
    settings.ledger_path = text_of("VRAMTRACE_SIM_LEDGER", "");
    settings.driver_version = static_cast<int>(parse_size(std::getenv("VRAMTRACE_SIM_DRIVER_VERSION"), 13000));
    settings.finish_at_sync = flag("VRAMTRACE_SIM_ASYNC");
    settings.deinitialize_at_exit = flag("VRAMTRACE_SIM_DEINIT");
    return settings;
}

}  // namespace vramtrace::simulator
