// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstring>
#include <functional>
#include <map>
#include <span>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "trace/definition.h"
#include "trace/event.h"
#include "trace/event_source.h"

// A trace in memory, for tests of everything behind the reading.
namespace vramtrace::test {

class VectorDefinitions : public trace::DefinitionView {
public:
    // Ids are given in order; the body is kept as it is.
    trace::DefinitionId add(trace::DefinitionKind kind, std::span<const std::byte> body) {
        const auto id = static_cast<trace::DefinitionId>(records_.size() + 1);
        records_[id] = {kind, {body.begin(), body.end()}};
        return id;
    }
    trace::DefinitionId add(trace::DefinitionKind kind, std::string_view text) {
        return add(kind, std::as_bytes(std::span(text.data(), text.size())));
    }
    // A struct of definition.h and what follows it.
    template <typename Body>
    requires(std::is_class_v<Body> && !std::is_convertible_v<Body, std::string_view> &&
             !std::is_convertible_v<Body, std::span<const std::byte>>) trace::DefinitionId
        add(trace::DefinitionKind kind, const Body& body, std::string_view tail = {}) {
        std::vector<std::byte> bytes(sizeof(Body) + tail.size());
        std::memcpy(bytes.data(), &body, sizeof(Body));
        std::copy_n(reinterpret_cast<const std::byte*>(tail.data()), tail.size(), bytes.begin() + sizeof(Body));
        return add(kind, std::span<const std::byte>(bytes));
    }

    std::span<const std::byte> body(trace::DefinitionId id, trace::DefinitionKind kind) const override {
        const auto record = records_.find(id);
        if (record == records_.end() || record->second.first != kind) return {};
        return record->second.second;
    }
    void for_each(const std::function<void(trace::DefinitionId, trace::DefinitionKind, std::span<const std::byte>)>&
                      visit) const override {
        for (const auto& [id, record] : records_) visit(id, record.first, record.second);
    }

private:
    std::map<trace::DefinitionId, std::pair<trace::DefinitionKind, std::vector<std::byte>>> records_;
};

class VectorSource : public trace::EventSource {
public:
    explicit VectorSource(std::vector<trace::Event> events, size_t batch = 1000)
        : events_(std::move(events)), batch_(batch) {}

    bool next_batch(std::vector<trace::Event>& batch) override {
        const size_t count = std::min(batch_, events_.size() - done_);
        const auto from = events_.begin() + static_cast<std::ptrdiff_t>(done_);
        batch.assign(from, from + static_cast<std::ptrdiff_t>(count));
        done_ += count;
        return count > 0;
    }
    const trace::DefinitionView& definitions() const override { return definitions_; }
    const trace::SourceStatus& status() const override { return status_; }
    uint64_t bytes_done() const override { return done_ * sizeof(trace::Event); }
    uint64_t bytes_total() const override { return events_.size() * sizeof(trace::Event); }

    VectorDefinitions& edit_definitions() { return definitions_; }
    trace::SourceStatus& edit_status() { return status_; }

private:
    std::vector<trace::Event> events_;
    size_t batch_;
    size_t done_ = 0;
    VectorDefinitions definitions_;
    trace::SourceStatus status_;
};

}  // namespace vramtrace::test
