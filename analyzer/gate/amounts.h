// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace vramtrace::gate {

// "0", "512 B", "64MiB", "2 GiB", "1.5G": bytes; K, M, G, T with or without iB or B are powers of 1024. Nothing if it is none.
std::optional<uint64_t> parse_bytes(std::string_view text);
// "5 %", "5%", "0.05": a share; 0.05 for all three. Nothing if it is none or below 0.
std::optional<double> parse_share(std::string_view text);

}  // namespace vramtrace::gate
