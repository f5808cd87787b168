// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <unordered_map>
#include <vector>

#include "analyzer/accounts/block_table.h"
#include "analyzer/replay/blocks.h"
#include "analyzer/replay/observer.h"

namespace vramtrace::accounts {

// Keeps the tables up to date with every event; tables() may be asked for at any time.
class BlockStats : public replay::Observer {
public:
    explicit BlockStats(const replay::Blocks& blocks) : blocks_(blocks) {}

    void on_event(const trace::Event& event) override;
    void on_block(const replay::BlockChange& change) override;
    void on_segment(const replay::SegmentChange& change) override;

    // Sorted by device; host pools last. Empty for a job without blocks.
    std::vector<BlockTable> tables() const;

private:
    // A refused call of a thread, until the thread's next block or out-of-memory tells what it was about.
    struct Refused {
        uint64_t begin = 0, end = 0;  // driver memory that the thread got since
    };
    static constexpr size_t kRefusedThreads = 4096;

    BlockTable& table(uint8_t device);
    void got_memory(const trace::Event& event);

    const replay::Blocks& blocks_;
    std::map<uint8_t, BlockTable> tables_;
    std::unordered_map<uint32_t, Refused> refused_;
};

}  // namespace vramtrace::accounts
