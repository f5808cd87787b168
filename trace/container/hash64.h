// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

// The checksum of blocks: XXH64 with seed 0, so that readers in other languages find it ready-made.
// Definition: https://github.com/Cyan4973/xxHash/blob/dev/doc/xxhash_spec.md
namespace vramtrace::trace {

uint64_t hash64(std::span<const std::byte> bytes);

}  // namespace vramtrace::trace
