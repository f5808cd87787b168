// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <random>
#include <vector>

#include "analyzer/accounts/block_table.h"
#include "tests/support/event_builder.h"
#include "tests/unit/analyzer/accounts/truth.h"

// A random framework that knows the truth: it cuts blocks out of segments, frees, trims, sleeps and wakes, and after every
// event works its table out anew from lists of segments and blocks. It never reads an event.
namespace vramtrace::test {

class RandomBlocks {
public:
    explicit RandomBlocks(uint64_t seed) : random_(seed) {}

    void run(size_t events) {
        while (job.events().size() < events) {
            stack_ = static_cast<uint32_t>(1 + pick(30));
            job.thread(static_cast<uint32_t>(1 + pick(3))).stack(stack_).device(0);
            step();
            settle();
        }
    }

    EventBuilder job;
    Truth truth;  // of Quantity::Block on device 0, and of the driver's memory
    accounts::BlockPool all, small, large;
    uint64_t offloaded = 0, orphaned = 0, unmatched = 0, outside = 0;
    uint64_t slept = 0, trimmed = 0, refused = 0;

private:
    using E = EventBuilder::Kind;
    static constexpr uint64_t kMiB = 1 << 20;

    struct Block {
        uint64_t address = 0, bytes = 0;
        Truth::Site site;
        bool orphan = false;
        bool small = false;
    };
    struct Segment {
        uint64_t address = 0, bytes = 0;
        bool expandable = false, small = false, claimed = false, asleep = false;
        Truth::Site site;                // driver allocation
        std::vector<uint64_t> pieces;    // expandable: handle of each mapped piece, 0 = not mapped
        std::vector<Truth::Site> sites;  // … and who made it
        uint64_t piece() const { return small ? 2 * kMiB : 20 * kMiB; }
        uint64_t usable() const {  // mapped from the front
            if (!expandable) return bytes;
            uint64_t sum = 0;
            for (const uint64_t handle : pieces) sum += handle != 0 ? piece() : 0;
            return sum;
        }
    };

    uint64_t pick(uint64_t limit) { return random_() % limit; }

    bool inside(const Segment& segment, const Block& block) const {
        return !block.orphan && block.address >= segment.address && block.address < segment.address + segment.bytes;
    }
    std::vector<Block*> blocks_in(const Segment& segment) {
        std::vector<Block*> found;
        for (Block& block : blocks_) {
            if (inside(segment, block)) found.push_back(&block);
        }
        std::sort(found.begin(), found.end(), [](auto* a, auto* b) { return a->address < b->address; });
        return found;
    }

    void begin(const Truth::Site& site, uint64_t bytes, uint64_t ticket) { truth.begin(site, bytes, ticket); }
    Truth::Site site(Kind kind) const { return {stack_, kind, 0}; }

    void new_segment() {
        Segment segment;
        segment.small = pick(2) == 0;
        segment.expandable = pick(3) == 0;
        segment.address = next_ += 0x100000000;
        if (segment.expandable) {
            segment.bytes = segment.piece() * 6;
            segment.pieces.assign(6, 0);
            segment.sites.resize(6);
            job.address(E::AddressReserve, segment.address, segment.bytes);
            segments_.push_back(segment);
            return grow(segments_.back());
        }
        segment.bytes = segment.small ? 2 * kMiB : 20 * kMiB;
        segment.site = site(Kind::DeviceMemory);
        begin(segment.site, segment.bytes, job.device_alloc(segment.address, segment.bytes));
        segments_.push_back(segment);
    }

    void map_piece(Segment& segment, size_t at) {
        const uint64_t handle = ++handles_;
        segment.sites[at] = site(Kind::Physical);
        begin(segment.sites[at], segment.piece(), job.physical_create(handle, segment.piece()));
        job.map(segment.address + at * segment.piece(), segment.piece(), handle);
        segment.pieces[at] = handle;
    }
    void unmap_piece(Segment& segment, size_t at) {
        job.unmap(segment.address + at * segment.piece(), segment.piece());
        job.physical_release(segment.pieces[at]);
        truth.end(segment.sites[at], segment.piece());
        segment.pieces[at] = 0;
    }
    void grow(Segment& segment) {
        if (segment.asleep) return;
        for (size_t i = 0; i < segment.pieces.size(); ++i) {
            if (segment.pieces[i] != 0) continue;
            map_piece(segment, i);
            return;
        }
    }

    void new_block() {
        if (segments_.empty()) return;
        Segment& segment = segments_[pick(segments_.size())];
        if (segment.asleep) return;
        // First fit, at a random place of the free piece now and then.
        const uint64_t most = segment.small ? kMiB : 12 * kMiB;
        const uint64_t bytes = 512 * (1 + pick(most / 512));
        uint64_t at = segment.address;
        const uint64_t end = segment.address + segment.usable();
        for (const Block* block : blocks_in(segment)) {
            if (block->address - at >= bytes) break;
            at = block->address + block->bytes;
        }
        if (at + bytes > end) return;
        add_block(segment, at, bytes);
    }
    void add_block(Segment& segment, uint64_t at, uint64_t bytes) {
        std::erase_if(blocks_, [at](const Block& block) { return block.orphan && block.address == at; });
        segment.claimed = true;
        blocks_.push_back({at, bytes, site(Kind::Block), false, segment.small});
        begin(blocks_.back().site, bytes, job.block_alloc(at, bytes, said(), reserved()));
    }

    void free_block() {
        if (blocks_.empty()) return;
        const size_t at = pick(blocks_.size());
        const Block block = blocks_[at];
        blocks_.erase(blocks_.begin() + static_cast<std::ptrdiff_t>(at));
        job.block_free(block.address, block.bytes, said(), reserved());
        if (!block.orphan) truth.end(block.site, block.bytes);
    }

    // What the framework would say: all blocks that it has not freed, all segments that it has not given back.
    uint64_t said() const {
        uint64_t sum = 0;
        for (const Block& block : blocks_) sum += block.bytes;
        return sum;
    }
    uint64_t reserved() const { return reserved_of(true, true); }
    uint64_t reserved_of(bool of_small, bool of_large) const {
        uint64_t sum = 0;
        for (const Segment& segment : segments_) {
            if (!segment.claimed || !(segment.small ? of_small : of_large)) continue;
            sum += segment.expandable && segment.asleep ? asleep_.at(segment.address) : segment.usable();
        }
        return sum;
    }

    void orphan_all(Segment& segment) {
        for (Block* block : blocks_in(segment)) {
            truth.end(block->site, block->bytes);
            block->orphan = true;
            ++orphaned;
        }
    }

    void end_segment() {
        if (segments_.empty()) return;
        const size_t at = pick(segments_.size());
        Segment& segment = segments_[at];
        if (segment.expandable || (!blocks_in(segment).empty() && pick(3) != 0)) return;
        const uint64_t ticket = job.device_free(segment.address);
        if (pick(5) == 0) {  // refused: nothing changes, but the driver's memory is back by the refusal only
            ++refused;
            truth.end(segment.site, segment.bytes);
            std::vector<Block*> back = blocks_in(segment);
            for (Block* block : back) truth.end(block->site, block->bytes);
            const uint64_t again = job.free_failed(ticket, 1);
            for (Block* block : back) truth.begin(block->site, block->bytes, again, false);
            return truth.begin(segment.site, segment.bytes, again, false);
        }
        truth.end(segment.site, segment.bytes);
        orphan_all(segment);
        segments_.erase(segments_.begin() + static_cast<std::ptrdiff_t>(at));
    }

    void trim() {  // the last mapped piece of an expandable segment, if no block reaches it
        for (Segment& segment : segments_) {
            if (!segment.expandable || segment.asleep || segment.usable() == 0) continue;
            const size_t last = segment.usable() / segment.piece() - 1;
            const uint64_t start = segment.address + last * segment.piece();
            const auto blocks = blocks_in(segment);
            if (!blocks.empty() && blocks.back()->address + blocks.back()->bytes > start) continue;
            ++trimmed;
            return unmap_piece(segment, last);
        }
    }

    void sleep_or_wake() {
        for (Segment& segment : segments_) {
            if (!segment.expandable || pick(2) == 0) continue;
            const auto blocks = blocks_in(segment);
            if (segment.asleep) {
                const size_t pieces = asleep_.at(segment.address) / segment.piece();
                for (size_t i = 0; i < pieces; ++i) map_piece(segment, i);
                asleep_.erase(segment.address);
                segment.asleep = false;
                return;
            }
            // Only whole segments under blocks: every piece of them has one.
            if (segment.usable() == 0) continue;
            bool covered = true;
            for (size_t i = 0; i * segment.piece() < segment.usable(); ++i) {
                const uint64_t from = segment.address + i * segment.piece();
                covered = covered && std::any_of(blocks.begin(), blocks.end(), [&](const Block* block) {
                              return block->address < from + segment.piece() && block->address + block->bytes > from;
                          });
            }
            if (!covered) continue;
            ++slept;
            asleep_[segment.address] = segment.usable();
            segment.asleep = true;
            for (size_t i = 0; i < segment.pieces.size(); ++i) {
                if (segment.pieces[i] != 0) unmap_piece(segment, i);
            }
            return;
        }
    }

    void step() {
        switch (pick(16)) {
            case 0:
                if (segments_.size() < 12) return new_segment();
                return;
            case 1:
                for (Segment& segment : segments_) {
                    if (segment.expandable && pick(2) == 0) return grow(segment);
                }
                return;
            case 2:
                return end_segment();
            case 3:
                return trim();
            case 4:
                if (pick(4) == 0) return sleep_or_wake();
                return;
            case 5:
                if (pick(4) == 0) {
                    job.block_free(0x123400 + pick(1000), 0, said(), reserved());
                    ++unmatched;
                } else {
                    job.device(trace::kNoDevice).block_alloc(0x5000 + pick(3) * 0x1000, 64);
                    ++outside;
                }
                return;
            case 6:
            case 7:
            case 8:
            case 9:
            case 10:
                return free_block();
            default:
                return new_block();
        }
    }

    // The table anew, from the lists; what changed since the last event is what was gained or lost.
    void settle() {
        settle(all, true, true);
        settle(small, true, false);
        settle(large, false, true);
        offloaded = 0;
        for (const Segment& segment : segments_) {
            if (!segment.asleep) continue;
            for (const Block& block : blocks_) offloaded += inside(segment, block) ? block.bytes : 0;
        }
    }
    void settle(accounts::BlockPool& pool, bool of_small, bool of_large) {
        uint64_t bytes = 0, count = 0, segments = 0, free_bytes = 0, free_pieces = 0;
        for (const Block& block : blocks_) {
            if (block.orphan || !(block.small ? of_small : of_large)) continue;
            bytes += block.bytes, ++count;
        }
        for (const Segment& segment : segments_) {
            if (!segment.claimed || segment.expandable || !(segment.small ? of_small : of_large)) continue;
            ++segments;
            uint64_t at = segment.address;
            const auto blocks = blocks_in(segment);
            if (blocks.empty()) continue;
            const auto hole = [&](uint64_t to) {
                if (to > at) free_bytes += to - at, ++free_pieces;
            };
            for (const Block* block : blocks) {
                hole(block->address);
                at = block->address + block->bytes;
            }
            hole(segment.address + segment.bytes);
        }
        set(pool.allocated.bytes, bytes);
        set(pool.allocated.count, count);
        set(pool.reserved.bytes, reserved_of(of_small, of_large));
        set(pool.reserved.count, segments);
        set(pool.split.bytes, free_bytes);
        set(pool.split.count, free_pieces);
    }
    static void set(accounts::Gauge& gauge, uint64_t now) {
        if (now > gauge.current) gauge.gained += now - gauge.current;
        if (now < gauge.current) gauge.lost += gauge.current - now;
        gauge.current = now;
        gauge.peak = std::max(gauge.peak, now);
    }

    std::mt19937_64 random_;
    uint32_t stack_ = 1;
    uint64_t next_ = 0x7f0000000000;
    uint64_t handles_ = 0;
    std::vector<Segment> segments_;
    std::vector<Block> blocks_;
    std::map<uint64_t, uint64_t> asleep_;  // segment → bytes that it had
};

}  // namespace vramtrace::test
