// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "trace/definition.h"

// Numbers that writer and reader of a definition record share.
namespace vramtrace::trace {

constexpr size_t kFirstRecord = kDefinitionAlignment;  // offset of the first record: id 0 stays "none"

// Bytes that a record with such a body takes, header and padding included.
constexpr size_t record_bytes(uint32_t body_bytes) {
    return (sizeof(DefinitionHeader) + size_t{body_bytes} + kDefinitionAlignment - 1) &
           ~size_t{kDefinitionAlignment - 1};
}

// FNV-1a, 32 bits; DefinitionHeader::hash. Of parts: give the hash so far.
constexpr uint32_t kFnvBasis = 2166136261U;
inline uint32_t definition_hash(const void* bytes, size_t size, uint32_t hash = kFnvBasis) {
    const auto* at = static_cast<const unsigned char*>(bytes);
    for (size_t i = 0; i < size; ++i) hash = (hash ^ at[i]) * 16777619U;
    return hash;
}

}  // namespace vramtrace::trace
