// SPDX-License-Identifier: Apache-2.0
#include "shim/capture/unwind_memo.h"

#include <cstring>

namespace vramtrace::shim {

size_t UnwindMemo::check(const StackMemory& memory) const {
    size_t at = cursor_;
    for (; at < kSteps; ++at) {
        const MemoStep& step = steps_[at];
        // A plain step's saved rbp lies between its rsp, where we are, and its return address.
        if (!step.plain || !memory.contains(reinterpret_cast<uintptr_t>(step.return_slot))) break;
        if (*step.return_slot != step.return_value || *step.bp_slot != step.bp_value) break;
    }
    return at;
}

bool UnwindMemo::remember(const MemoStep* fresh, size_t fresh_count, const trace::Frame* fresh_frames,
                          size_t fresh_kept, bool joined, uint16_t flags, bool ended, uint64_t epoch) {
    const size_t joint = joined ? cursor_ : kSteps;
    valid_ = fresh_count <= joint && joint - fresh_count < kSteps;
    id_ = 0;
    if (!valid_) return false;
    if (!joined) {
        flags_ = flags;
        ended_ = ended;
        epoch_ = epoch;
    }
    uint32_t kept = kept_from(joint);
    uint64_t sum = sums_[kSteps - kept];
    for (size_t i = fresh_kept; i-- > 0;) {
        sum = fresh_frames[i] + StackHash::kFactor * sum;
        ++kept;
        frames_[kSteps - kept] = fresh_frames[i];
        sums_[kSteps - kept] = sum;
    }
    kept -= static_cast<uint32_t>(fresh_kept);
    first_ = joint - fresh_count;
    memcpy(&steps_[first_], fresh, fresh_count * sizeof(MemoStep));
    for (size_t i = joint; i-- > first_;) {
        kept += steps_[i].kept;
        steps_[i].kept = kept;
    }
    return true;
}

uint64_t UnwindMemo::hash(size_t count) const {
    const size_t all = kept();
    uint64_t sum = sums_[kSteps - all];
    if (count < all) {
        uint64_t power = 1, base = StackHash::kFactor;
        for (size_t exponent = count; exponent != 0; exponent >>= 1) {
            if (exponent & 1) power *= base;
            base *= base;
        }
        sum -= power * sums_[kSteps - (all - count)];
    }
    return StackHash(sum).finished(count);
}

}  // namespace vramtrace::shim
