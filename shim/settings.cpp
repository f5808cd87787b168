// SPDX-License-Identifier: Apache-2.0
#include "shim/settings.h"

#include <cstring>
#include <initializer_list>

#include "shim/arena.h"
#include "shim/capture/safe_memory.h"
#include "trace/ring/system_calls.h"

extern "C" char** environ;

namespace vramtrace::shim {

namespace {

constexpr char kFamily[] = "VRAMTRACE_";
constexpr size_t kFamilyLength = sizeof kFamily - 1;
constexpr size_t kPage = 4096;

bool parse_digits(const char*& at, uint64_t& value) {
    const char* begin = at;
    value = 0;
    for (; *at >= '0' && *at <= '9'; ++at) {
        const auto digit = static_cast<uint64_t>(*at - '0');
        if (value > (~0ULL - digit) / 10) return false;
        value = value * 10 + digit;
    }
    return at != begin;
}

bool parse(const char* text, setting_type::Text& to, uint64_t, uint64_t) {
    const size_t length = strlen(text);
    if (length >= sizeof to.value) return false;
    std::memcpy(to.value, text, length + 1);
    return true;
}

bool parse(const char* text, setting_type::Number& to, uint64_t least, uint64_t greatest) {
    uint64_t value = 0;
    if (!parse_digits(text, value) || *text != '\0' || value < least || value > greatest) return false;
    to = static_cast<setting_type::Number>(value);
    return true;
}

bool parse(const char* text, setting_type::Bytes& to, uint64_t least, uint64_t greatest) {
    uint64_t value = 0;
    if (!parse_digits(text, value)) return false;
    unsigned shift = 0;
    switch (*text) {
        case 'k':
        case 'K':
            shift = 10;
            break;
        case 'm':
        case 'M':
            shift = 20;
            break;
        case 'g':
        case 'G':
            shift = 30;
            break;
        case 't':
        case 'T':
            shift = 40;
            break;
        default:
            break;
    }
    if (shift != 0) {
        ++text;
        if (std::strcmp(text, "iB") == 0)
            text += 2;
        else if (*text == 'B')
            ++text;
    }
    if (*text != '\0' || value > (~0ULL >> shift)) return false;
    value <<= shift;
    if (value < least || value > greatest) return false;
    to = value;
    return true;
}

bool parse(const char* text, setting_type::Switch& to, uint64_t, uint64_t) {
    for (const char* yes : {"1", "yes", "on", "true"}) {
        if (std::strcmp(text, yes) == 0) return to = true;
    }
    for (const char* no : {"0", "no", "off", "false", ""}) {
        if (std::strcmp(text, no) == 0) {
            to = false;
            return true;
        }
    }
    return false;
}

bool parse(const char* text, setting_type::Level& to, uint64_t, uint64_t) {
    const bool driver = std::strcmp(text, "driver") == 0;
    if (!driver && std::strcmp(text, "all") != 0) return false;
    to = driver ? setting_type::Level::Driver : setting_type::Level::All;
    return true;
}

void set_default(setting_type::Text& to, const char* value) {
    std::memcpy(to.value, value, strlen(value) + 1);
}
void set_default(setting_type::Number& to, uint64_t value) {
    to = static_cast<setting_type::Number>(value);
}
void set_default(setting_type::Bytes& to, uint64_t value) {
    to = value;
}
void set_default(setting_type::Switch& to, int value) {
    to = value != 0;
}

void set_default(setting_type::Level& to, int value) {
    to = static_cast<setting_type::Level>(value);
}

// The value if `variable` is NAME=value, else nullptr.
const char* value_of(const char* variable, const char* name) {
    const size_t length = strlen(name);
    return std::strncmp(variable, name, length) == 0 && variable[length] == '=' ? variable + length + 1 : nullptr;
}

// Appends `variable` with its NUL, or nothing if there is no room for the whole of it.
template <size_t kRoom>
void remember(char (&list)[kRoom], uint32_t& used, const char* variable) {
    const size_t bytes = strlen(variable) + 1;
    if (used + bytes > kRoom) return;
    std::memcpy(list + used, variable, bytes);
    used += static_cast<uint32_t>(bytes);
}

void refuse(Settings& settings, const char* variable) {
    if (settings.refused[0] != '\0') return;
    const size_t length = strnlen(variable, sizeof settings.refused - 1);
    std::memcpy(settings.refused, variable, length);
    settings.refused[length] = '\0';
}

void take(Settings& settings, const char* variable) {
    const char* name = variable + kFamilyLength;
    const char* value = nullptr;
    remember(settings.given, settings.given_bytes, variable);
#define VRAMTRACE_TAKE(NAME, type, member, initial, least, greatest, text)               \
    if ((value = value_of(name, #NAME)) != nullptr) {                                    \
        if (!parse(value, settings.member, least, greatest)) refuse(settings, variable); \
        return;                                                                          \
    }
    VRAMTRACE_SETTINGS(VRAMTRACE_TAKE)
#undef VRAMTRACE_TAKE
}

constexpr const char* kRanks[] = {"SLURM_PROCID", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "RANK"};

bool says_how_to_allocate(const char* variable) {
    for (const char* name : kAllocatorVariables) {
        if (value_of(variable, name) != nullptr) return true;
    }
    return false;
}
constexpr char kNvtx[] = "NVTX_INJECTION64_PATH";

bool wanted(const char* variable) {
    if (says_how_to_allocate(variable)) return true;
    if (std::strncmp(variable, kFamily, kFamilyLength) == 0 || value_of(variable, "HOME") != nullptr) return true;
    if (value_of(variable, kNvtx) != nullptr) return true;
    for (const char* rank : kRanks) {
        if (value_of(variable, rank) != nullptr) return true;
    }
    return false;
}

// The environment as it is now, copied through the kernel: another thread's setenv may move the array away under us.
class EnvironmentCopy {
public:
    static constexpr size_t kMostVariables = 4096;

    const char* const* take() {
        const char* const* array = environ;
        for (size_t i = 0; array != nullptr && i < kMostVariables && count_ < kMostKept; ++i) {
            const char* variable = nullptr;
            if (!safe_copy(&variable, reinterpret_cast<uintptr_t>(array + i), sizeof variable) || variable == nullptr)
                break;
            char* copy = text_ + used_;
            if (!read_string(variable, copy, sizeof text_ - used_) || !wanted(copy)) continue;
            list_[count_++] = copy;
            used_ += strlen(copy) + 1;
        }
        list_[count_] = nullptr;
        return list_;
    }

private:
    static constexpr size_t kMostKept = 127;

    static bool read_string(const char* from, char* to, size_t room) {
        size_t used = 0;
        while (used < room) {
            const size_t in_page = kPage - (reinterpret_cast<uintptr_t>(from + used) & (kPage - 1));
            size_t part = in_page < room - used ? in_page : room - used;
            if (part > 64) part = 64;
            if (!safe_copy(to + used, reinterpret_cast<uintptr_t>(from + used), part)) return false;
            if (std::memchr(to + used, '\0', part) != nullptr) return true;
            used += part;
            if (used == 64 && !could_be_wanted(to)) return false;
        }
        return false;
    }

    // Spares reading the whole of a long foreign variable.
    static bool could_be_wanted(const char* begin) {
        return std::strncmp(begin, kFamily, kFamilyLength) == 0 || std::strncmp(begin, "HOME=", 5) == 0 ||
               says_how_to_allocate(begin) || std::strncmp(begin, kNvtx, sizeof kNvtx - 1) == 0;
    }

    char text_[24576];
    const char* list_[kMostKept + 1];
    size_t used_ = 0;
    size_t count_ = 0;
};

}  // namespace

void parse_settings(const char* const* environment, Settings& settings) {
#define VRAMTRACE_DEFAULT(NAME, type, member, initial, least, greatest, text) set_default(settings.member, initial);
    VRAMTRACE_SETTINGS(VRAMTRACE_DEFAULT)
#undef VRAMTRACE_DEFAULT
    settings.rank[0] = settings.home[0] = settings.nvtx[0] = settings.refused[0] = '\0';
    settings.given_bytes = settings.allocator_bytes = 0;
    size_t best_rank = sizeof kRanks / sizeof kRanks[0];
    for (; *environment != nullptr; ++environment) {
        const char* variable = *environment;
        if (std::strncmp(variable, kFamily, kFamilyLength) == 0) {
            take(settings, variable);
            continue;
        }
        if (const char* home = value_of(variable, "HOME"); home != nullptr && strlen(home) < sizeof settings.home) {
            std::memcpy(settings.home, home, strlen(home) + 1);
        }
        if (says_how_to_allocate(variable)) remember(settings.allocators, settings.allocator_bytes, variable);
        if (const char* nvtx = value_of(variable, kNvtx); nvtx != nullptr && strlen(nvtx) < sizeof settings.nvtx) {
            std::memcpy(settings.nvtx, nvtx, strlen(nvtx) + 1);
        }
        for (size_t i = 0; i < best_rank; ++i) {
            const char* rank = value_of(variable, kRanks[i]);
            if (rank == nullptr || *rank == '\0' || strlen(rank) >= sizeof settings.rank) continue;
            std::memcpy(settings.rank, rank, strlen(rank) + 1);
            best_rank = i;
        }
    }
    // An empty directory would be the working directory itself, which nobody means by it.
    if (settings.directory.value[0] == '\0') set_default(settings.directory, "vramtrace-trace");
}

const Settings* settings() {
    std::atomic<void*>* slot = root_slot(RootSlot::Settings);
    if (slot == nullptr) return nullptr;
    // acquire, pairs with the release below.
    if (void* known = slot->load(std::memory_order_acquire)) return static_cast<const Settings*>(known);
    const trace::KeepErrno keep_errno;
    Settings* fresh = arena_new<Settings>();
    auto* environment = arena_new<EnvironmentCopy>();
    if (fresh == nullptr || environment == nullptr) return nullptr;
    parse_settings(environment->take(), *fresh);
    void* expected = nullptr;
    if (slot->compare_exchange_strong(expected, fresh, std::memory_order_acq_rel, std::memory_order_acquire))
        return fresh;
    return static_cast<const Settings*>(expected);
}

}  // namespace vramtrace::shim
