// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>

#include "trace/definition.h"
#include "trace/event_source.h"

// A definition image put together again from ranges that come in any order and may overlap (the later wins). Address
// space is reserved, memory is taken only where bytes were laid: a range at a wild offset costs its own pages. Spans that
// were handed out stay valid: an image that outgrows the first reservation gets the largest there can be, and the first
// one stays until the end.
namespace vramtrace::trace {

class DefinitionStore final : public DefinitionView {
public:
    DefinitionStore();
    ~DefinitionStore() override;
    DefinitionStore(const DefinitionStore&) = delete;
    DefinitionStore& operator=(const DefinitionStore&) = delete;

    // False if the range lies outside any possible image (or outside the address space that we got).
    bool lay(uint64_t offset, std::span<const std::byte> bytes);

    std::span<const std::byte> image() const { return {base_, end_}; }
    std::span<const std::byte> body(DefinitionId id, DefinitionKind kind) const override;
    // Goes on behind damaged, missing and uncommitted records.
    void for_each(
        const std::function<void(DefinitionId, DefinitionKind, std::span<const std::byte>)>& visit) const override;

private:
    bool reserve(size_t bytes);

    std::span<std::byte> first_;  // the reservation that was outgrown
    std::byte* base_ = nullptr;
    size_t reserved_ = 0;
    size_t end_ = 0;
};

}  // namespace vramtrace::trace
