// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <string>

namespace vramtrace::simulator {

struct GlobalVariable {
    uint64_t bytes = 0;
    bool managed = false;
};

// What can be known of a module's image (ELF, PTX text, fat binary): its length and its global variables.
struct ImageFacts {
    uint64_t bytes = 0;
    std::map<std::string, GlobalVariable> globals;
};

ImageFacts facts_of_image(const void* image);
std::map<std::string, GlobalVariable>& declared_globals(const void* image);

}  // namespace vramtrace::simulator
