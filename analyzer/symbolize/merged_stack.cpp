// SPDX-License-Identifier: Apache-2.0
#include "analyzer/symbolize/merged_stack.h"

#include <algorithm>
#include <numeric>

namespace vramtrace::symbolize {

namespace {

bool is_interpreters(NativeRole role) {
    return role != NativeRole::Outside && role != NativeRole::Start;
}

// Native frames of the interpreter that follow each other: what matters is how many runs belong in there.
struct Block {
    size_t first = 0, end = 0;
    size_t evaluations = 0;
    size_t unnamed = 0;
    size_t runs = 0;  // of Python frames, that take its place
};

class Merger {
public:
    explicit Merger(const StacksToMerge& stacks) : stacks_(stacks) {
        find_blocks();
        for (size_t i = 0, begin = 0; i < stacks.entered.size(); ++i) {
            if (stacks.entered[i] == 0 && i + 1 != stacks.entered.size()) continue;
            runs_.push_back({begin, i + 1});
            begin = i + 1;
        }
    }

    MergedStack merge() {
        if (!runs_.empty()) share_out();
        const size_t end = runs_.empty() ? stacks_.native.size() : end_of_interest();
        size_t block = 0;
        for (size_t i = 0; i < stacks_.native.size();) {
            if (!runs_.empty() && block < blocks_.size() && blocks_[block].first == i) {
                put_block(blocks_[block]);
                i = blocks_[block++].end;
            } else {
                const bool start_of_it_all = i >= end && stacks_.native[i] == NativeRole::Start;
                if (!start_of_it_all) put_native(i);
                ++i;
            }
        }
        while (done_ < runs_.size()) put_run();
        return std::move(merged_);
    }

private:
    struct Run {
        size_t first, end;
    };

    bool is_evaluation_at(size_t i) const {
        if (stacks_.native[i] == NativeRole::Evaluation) return true;
        if (stacks_.native[i] != NativeRole::EvaluationPart) return false;
        // A piece that was called, not jumped to: the caller is the evaluation.
        return i + 1 == stacks_.native.size() ||
               (stacks_.native[i + 1] != NativeRole::Evaluation && stacks_.native[i + 1] != NativeRole::EvaluationPart);
    }

    void find_blocks() {
        for (size_t i = 0; i < stacks_.native.size(); ++i) {
            if (!is_interpreters(stacks_.native[i])) continue;
            if (blocks_.empty() || blocks_.back().end != i) blocks_.push_back({i, i});
            Block& block = blocks_.back();
            block.end = i + 1;
            block.evaluations += is_evaluation_at(i) ? 1 : 0;
            block.unnamed += stacks_.native[i] == NativeRole::Unnamed ? 1 : 0;
        }
        if (!blocks_.empty()) leave_out_start(blocks_.back());
    }

    // Between the main program's code and main() there is no evaluation.
    void leave_out_start(Block& block) const {
        const auto begin = stacks_.native.begin() + static_cast<std::ptrdiff_t>(block.first);
        const auto main = std::find(begin, stacks_.native.end(), NativeRole::RunsMain);
        if (main == stacks_.native.end()) return;
        auto code = main;
        while (code != begin && *code != NativeRole::EvaluatesCode) --code;
        if (*code != NativeRole::EvaluatesCode) return;
        const auto end = stacks_.native.begin() + static_cast<std::ptrdiff_t>(block.end);
        block.unnamed -= static_cast<size_t>(std::count(code, end, NativeRole::Unnamed));
    }

    // Says how many runs take the place of each block.
    void share_out() {
        size_t evaluations = 0, unnamed = 0;
        for (const Block& block : blocks_) {
            evaluations += block.evaluations;
            unnamed += block.unnamed;
        }
        const size_t runs = runs_.size();
        if (evaluations >= runs) {
            // More evaluations: either their frames were not recorded, at the outer end, or the innermost had only
            // begun and shows none yet.
            from_outside_ = evaluations > runs && stacks_.python_whole;
            merged_.guessed = from_outside_;
            size_t left = runs;
            const auto take = [&](Block& block) { left -= block.runs = std::min(left, block.evaluations); };
            if (from_outside_) {
                std::for_each(blocks_.rbegin(), blocks_.rend(), take);
            } else {
                std::for_each(blocks_.begin(), blocks_.end(), take);
            }
            return;
        }
        for (Block& block : blocks_) block.runs = block.evaluations;
        size_t missing = runs - evaluations;
        if (unnamed > 0) {
            // Frames without a name hide the rest: at least one run where there is no evaluation, else the more the
            // more frames.
            merged_.guessed = is_uncertain();
            for (Block& block : blocks_) {
                if (missing == 0 || block.evaluations != 0 || block.unnamed == 0) continue;
                block.runs = 1;
                --block.unnamed;
                --unnamed;
                --missing;
            }
            if (unnamed == 0) blocks_.back().runs += missing;
            size_t seen = 0, given = 0;
            for (Block& block : blocks_) {
                seen += block.unnamed;
                const size_t due = unnamed == 0 ? 0 : (missing * seen + unnamed / 2) / unnamed;
                block.runs += due - given;
                given = due;
            }
        } else if (stacks_.native_whole) {
            merged_.guessed = true;
            if (!blocks_.empty()) blocks_.back().runs += missing;
        }
        // Else they lie outside of what was recorded of the native stack: behind all of it.
    }

    // In a whole stack with one place for Python code there is no doubt.
    bool is_uncertain() const {
        const auto may_evaluate = [](const Block& block) { return block.evaluations + block.unnamed > 0; };
        return !stacks_.native_whole || std::count_if(blocks_.begin(), blocks_.end(), may_evaluate) != 1;
    }

    // Behind it are only the frames that started the interpreter, or the thread.
    size_t end_of_interest() const {
        size_t begin = stacks_.native.size();
        while (begin > 0 && stacks_.native[begin - 1] != NativeRole::Outside) --begin;
        while (begin < stacks_.native.size() && !is_interpreters(stacks_.native[begin])) ++begin;
        return begin;
    }

    void put_block(const Block& block) {
        size_t left = block.runs;
        size_t unmatched = block.evaluations - std::min(block.runs, block.evaluations);
        for (size_t i = block.first; i < block.end; ++i) {
            if (stacks_.native[i] == NativeRole::Collection) put_native(i);
            if (!is_evaluation_at(i)) continue;
            const bool keep = from_outside_ ? unmatched > 0 : left == 0;
            if (keep) {
                put_native(i);
                unmatched -= unmatched > 0 ? 1 : 0;
            } else {
                put_run();
                --left;
            }
        }
        for (; left > 0; --left) put_run();
    }

    void put_native(size_t index) { merged_.frames.push_back({false, static_cast<uint32_t>(index)}); }
    void put_run() {
        const Run run = runs_[done_++];
        for (size_t i = run.first; i < run.end; ++i) merged_.frames.push_back({true, static_cast<uint32_t>(i)});
    }

    const StacksToMerge& stacks_;
    std::vector<Block> blocks_;
    std::vector<Run> runs_;
    size_t done_ = 0;  // runs already put
    bool from_outside_ = false;
    MergedStack merged_;
};

}  // namespace

MergedStack merge_stacks(const StacksToMerge& stacks) {
    return Merger(stacks).merge();
}

}  // namespace vramtrace::symbolize
