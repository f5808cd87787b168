// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace vramtrace::accounts {

struct Amount {
    uint64_t count = 0;
    uint64_t bytes = 0;
    void add(uint64_t b) { ++count, bytes += b; }
    void take(uint64_t b) { --count, bytes -= b; }
    friend bool operator==(const Amount&, const Amount&) = default;
};

}  // namespace vramtrace::accounts
