// SPDX-License-Identifier: Apache-2.0
#include "shim/hooks/function_table.h"

#include <string.h>

#include "shim/real/elf_symbols.h"

namespace vramtrace::shim {

namespace {

constexpr const char* kNames[] = {
    "",
#define DRIVER(symbol, effect, parameters, arguments) #symbol,
#include "shim/hooks/driver_functions.def"
#undef DRIVER
#define RUNTIME(symbol, bytes, parameters, arguments) #symbol,
#include "shim/hooks/runtime_functions.def"
#undef RUNTIME
};
constexpr unsigned kNameCount = sizeof kNames / sizeof *kNames;
static_assert(kNameCount == static_cast<unsigned>(Name::End));

constexpr char kTableText[] = "\0"
#define DRIVER(symbol, effect, parameters, arguments) #symbol "\0"
#include "shim/hooks/driver_functions.def"
#undef DRIVER
#define RUNTIME(symbol, bytes, parameters, arguments) #symbol "\0"
#include "shim/hooks/runtime_functions.def"
#undef RUNTIME
    ;
#define VRAMTRACE_FRAMEWORK_TEXT(identifier, text) text "\0"
constexpr char kFrameworkText[] = VRAMTRACE_FRAMEWORK_FUNCTIONS(VRAMTRACE_FRAMEWORK_TEXT);
#undef VRAMTRACE_FRAMEWORK_TEXT

// Both without the compiler's own NUL at their ends; one NUL is one empty name.
constexpr unsigned kEmptyNames = kFirstFrameworkName - kNameCount;
struct AllText {
    char bytes[sizeof kTableText - 1 + kEmptyNames + sizeof kFrameworkText - 1] = {};
    constexpr AllText() {
        for (size_t i = 0; i < sizeof kTableText - 1; ++i) bytes[i] = kTableText[i];
        char* frameworks = bytes + sizeof kTableText - 1 + kEmptyNames;
        for (size_t i = 0; i < sizeof kFrameworkText - 1; ++i) frameworks[i] = kFrameworkText[i];
    }
};
constexpr AllText kText;

constexpr const char* kPassed[] = {
#define DRIVER_PASSED(symbol, why) #symbol,
#include "shim/hooks/driver_passed.def"
#undef DRIVER_PASSED
};

// Built by the compiler: a look-up by name happens for every dlsym of the job.
constexpr unsigned kBuckets = 1024;
struct NameIndex {
    uint8_t first[kBuckets] = {};
    static constexpr uint32_t hash(const char* text) {
        uint32_t value = 5381;
        for (; *text != '\0'; ++text) value = value * 33 + static_cast<unsigned char>(*text);
        return (value * 0x9E3779B1U) >> 22;
    }
    constexpr NameIndex() {
        for (unsigned name = 1; name < kNameCount; ++name) {
            uint32_t bucket = hash(kNames[name]);
            while (first[bucket] != 0) bucket = (bucket + 1) % kBuckets;
            first[bucket] = static_cast<uint8_t>(name);
        }
    }
};
constexpr NameIndex kIndex;

}  // namespace

const char* const* driver_names() {
    return kNames + 1;
}
const char* const* runtime_names() {
    return kNames + 1 + kDriverFunctions;
}
const char* name_text(Name name) {
    return kNames[static_cast<unsigned>(name)];
}

Name name_of(const char* text) {
    for (uint32_t bucket = NameIndex::hash(text); kIndex.first[bucket] != 0; bucket = (bucket + 1) % kBuckets)
        if (strcmp(kNames[kIndex.first[bucket]], text) == 0) return static_cast<Name>(kIndex.first[bucket]);
    return Name::None;
}

bool is_passed(const char* text) {
    for (const char* passed : kPassed)
        if (strcmp(passed, text) == 0) return true;
    return false;
}

NamesText names_text() {
    return {kText.bytes, sizeof kText.bytes};
}

}  // namespace vramtrace::shim
