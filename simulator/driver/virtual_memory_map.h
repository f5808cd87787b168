// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>

#include "simulator/driver/virtual_memory.h"

namespace vramtrace::simulator {

struct Reservation {
    uint64_t bytes;
    uint64_t sequence;
};

std::map<uint64_t, Reservation>& reservations();
std::map<uint64_t, Mapping>& mappings();

bool map_view(const Physical& physical, uint64_t offset, uint64_t bytes, uint64_t address);
void unmap_view(uint64_t address, uint64_t bytes);
void set_protection(uint64_t address, Mapping& mapping);

}  // namespace vramtrace::simulator
