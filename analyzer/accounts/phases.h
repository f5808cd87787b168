// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <vector>

#include "analyzer/accounts/open_ranges.h"
#include "analyzer/replay/observer.h"

namespace vramtrace::accounts {

// Measures every range while it is open: O(open ranges) an event, and nothing when none is open. Memory grows with paths,
// not with ranges. Ranges come first: range() before the replay sees the event.
class Phases : public replay::Observer {
public:
    explicit Phases(OpenRanges::TextOf text = {}, OpenRanges::Wanted wanted = {})
        : ranges_(std::move(text), std::move(wanted)) {}

    // RangeBegin, RangeEnd or Mark.
    void range(const trace::Event& event);
    const OpenRanges& ranges() const { return ranges_; }
    // What Allocation::tag is from here on: which phases are open, and whether a wanted one is (bit 0).
    uint32_t tag() { return ranges_.set() << 1 | (ranges_.any_wanted() ? 1U : 0U); }

    void on_allocate(const Allocation& allocation) override;
    void on_release(const Allocation& allocation, const replay::Release& release) override;
    void on_restore(const Allocation& allocation, const replay::Release& taken_back, Moment now) override;

    // As of `now`; ranges still open are measured up to there. `for_each_left` visits what the program never freed.
    using Visit = std::function<void(const Allocation&)>;
    PhaseTable table(Moment now, const std::function<void(const Visit&)>& for_each_left) const;

private:
    static constexpr uint16_t kNone = 0xffff;
    struct Ledger {
        uint8_t device = trace::kNoDevice;
        Quantity quantity = Quantity::Device;
        Amount live;
    };
    struct Measure {  // of one ledger in one open range
        uint64_t live_begin = 0, peak = 0;
        Moment peak_moment;
        Amount allocated, freed, survivors;
        bool any = false;  // something happened, or something was live
    };
    using Measures = std::vector<Measure>;  // by ledger
    struct Record {                         // by path
        Phase phase;
        std::map<uint16_t, PhaseSum> sums;  // by ledger
        std::deque<PhaseOccurrence> last;
    };

    uint16_t ledger_of(const Allocation& allocation);
    Measure& measure(size_t range, uint16_t ledger);
    void grow(uint16_t ledger, uint64_t bytes, Moment now);
    static void close(const std::vector<Ledger>& ledgers, Record& record, const OpenRanges::Range& range,
                      const Measures& measures, Moment end, bool open);
    Record& record_of(const OpenRanges::Range& range);

    OpenRanges ranges_;
    std::vector<Measures> measures_;  // beside ranges_.open()
    std::vector<Ledger> ledgers_;
    std::array<uint16_t, 256 * replay::kQuantities> places_ = [] {
        std::array<uint16_t, 256 * replay::kQuantities> none{};
        none.fill(kNone);
        return none;
    }();
    std::map<uint32_t, Record> records_;  // by path
    uint64_t marks_ = 0;
};

}  // namespace vramtrace::accounts
