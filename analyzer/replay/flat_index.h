// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace vramtrace::replay {

// (number, space) → pointer, open addressing with linear probing and no tombstones: one cache line for most look-ups,
// and deletions leave nothing behind however long a trace is.
template <typename T>
class FlatIndex {
public:
    FlatIndex() : slots_(kFirstSlots) {}

    T* find(uint64_t key, uint8_t space) const {
        for (size_t i = home(key, space);; i = next(i)) {
            const Slot& slot = slots_[i];
            if (slot.value == nullptr) return nullptr;
            if (slot.key == key && slot.space == space) return slot.value;
        }
    }

    // The key must not be there yet.
    void insert(uint64_t key, uint8_t space, T* value) {
        if ((count_ + 1) * 4 > slots_.size() * 3) grow();
        place(Slot{key, value, space});
        ++count_;
    }

    void erase(uint64_t key, uint8_t space) {
        size_t i = home(key, space);
        for (;; i = next(i)) {
            if (slots_[i].value == nullptr) return;
            if (slots_[i].key == key && slots_[i].space == space) break;
        }
        // Close the gap: move back every later entry of the run that would no longer be found across it.
        for (size_t j = next(i); slots_[j].value != nullptr; j = next(j)) {
            const size_t want = home(slots_[j].key, slots_[j].space);
            if (((j - want) & mask()) >= ((j - i) & mask())) {
                slots_[i] = slots_[j];
                i = j;
            }
        }
        slots_[i] = Slot{};
        --count_;
    }

    size_t size() const { return count_; }
    size_t capacity() const { return slots_.size(); }

private:
    struct Slot {
        uint64_t key = 0;
        T* value = nullptr;
        uint8_t space = 0;
    };
    static constexpr size_t kFirstSlots = 1024;  // a power of two, as every size after it

    size_t mask() const { return slots_.size() - 1; }
    size_t next(size_t i) const { return (i + 1) & mask(); }
    size_t home(uint64_t key, uint8_t space) const {
        // Addresses differ in their middle bits only: multiply to spread them, take the high half.
        const uint64_t mixed = (key + space * 0x51ED270B8D5E2FULL) * 0x9E3779B97F4A7C15ULL;
        return (mixed >> 32 ^ mixed >> 57) & mask();
    }
    void place(const Slot& entry) {
        size_t i = home(entry.key, entry.space);
        while (slots_[i].value != nullptr) i = next(i);
        slots_[i] = entry;
    }
    void grow() {
        std::vector<Slot> old(slots_.size() * 2);
        old.swap(slots_);
        for (const Slot& slot : old) {
            if (slot.value != nullptr) place(slot);
        }
    }

    std::vector<Slot> slots_;
    size_t count_ = 0;
};

}  // namespace vramtrace::replay
