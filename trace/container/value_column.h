// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "trace/bounded_cursor.h"
#include "trace/container/byte_sink.h"

// A field that is mostly what it was the last time at the same place, and else one of few values. Two columns:
//   codes:  varint a value: 0 = as the last one of this shape, 1 = a new value, n = value number n − 2 of this block
//   values: zigzag difference of each new value to the new value before it
// The last value of a shape that has had none is 0, which is never written (the shape says that the field is not 0).
namespace vramtrace::trace {

class ValueEncoder {
public:
    void reset() {
        numbers_.clear();
        last_of_shape_.clear();
        last_new_ = 0;
    }

    void put(uint64_t value, uint32_t shape, ByteSink& codes, ByteSink& values) {
        if (shape >= last_of_shape_.size()) last_of_shape_.resize(shape + 1, 0);
        if (last_of_shape_[shape] == value) {
            codes.varint(0);
            return;
        }
        last_of_shape_[shape] = value;
        const auto [known, is_new] = numbers_.try_emplace(value, static_cast<uint32_t>(numbers_.size()));
        if (!is_new) {
            codes.varint(known->second + 2ULL);
            return;
        }
        codes.varint(1);
        values.difference(value, last_new_);
        last_new_ = value;
    }

private:
    std::unordered_map<uint64_t, uint32_t> numbers_;
    std::vector<uint64_t> last_of_shape_;
    uint64_t last_new_ = 0;
};

class ValueDecoder {
public:
    void reset(size_t shapes) {
        known_.clear();
        last_of_shape_.assign(shapes, 0);
    }

    // False if the code names a value that the block has not had.
    bool get(uint32_t shape, BoundedCursor& codes, BoundedCursor& values, uint64_t& value) {
        const uint64_t code = codes.varint();
        if (code == 1) {
            known_.push_back((known_.empty() ? 0 : known_.back()) + static_cast<uint64_t>(values.zigzag()));
            last_of_shape_[shape] = known_.back();
        } else if (code > 1) {
            if (code - 2 >= known_.size()) return false;
            last_of_shape_[shape] = known_[static_cast<size_t>(code - 2)];
        }
        value = last_of_shape_[shape];
        return codes.ok() && values.ok();
    }

private:
    std::vector<uint64_t> known_;
    std::vector<uint64_t> last_of_shape_;
};

}  // namespace vramtrace::trace
