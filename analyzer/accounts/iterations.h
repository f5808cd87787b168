// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "analyzer/accounts/accountant.h"
#include "analyzer/accounts/accounts.h"
#include "analyzer/replay/observer.h"

// ITERATIONS: the job's outermost loop, found or given, and what each call site had live in each of its rounds. Where an
// iteration begins is known only when all has been read, so this is a second pass over the same events.
namespace vramtrace::accounts {

// What begins an iteration: an allocation at `site`, or, if `texts` is not empty, a range or mark with one of these names.
struct IterationMarker {
    SiteId site = 0;
    std::set<uint32_t> texts;  // String definitions
    uint64_t count = 0;        // how often it comes
};

// The site that marks the outermost loop: allocates at least kLeastIterations times, most of the times after the same as
// the times before, over at least half of the recording and nearly to its end; of several, the one that comes least often. Nothing if no site
// does.
std::optional<IterationMarker> find_marker(const Accounts& accounts);
constexpr uint64_t kLeastIterations = 5;

// A call site's rounds. Index 0 is what came before the first iteration; index 1 + i / stride is iteration i.
struct SiteSeries {
    std::vector<uint64_t> trough_bytes, trough_count;      // the least that was live in a round
    std::vector<uint64_t> born;                            // allocations
    std::vector<uint64_t> survivor_count, survivor_bytes;  // of those, what is left at the end
    struct Release {
        uint32_t stack = 0;
        Amount amount;
        Moment last;
    };
    std::vector<Release> releases;  // who freed: the first kReleaseStacks stacks, then stack 0 for the rest
};
constexpr size_t kReleaseStacks = 8;
constexpr uint64_t kMostRounds = 256;

struct Iterations {
    IterationMarker marker;
    uint64_t count = 0;          // iterations that began
    uint64_t stride = 1;         // iterations in a round
    std::vector<Moment> begins;  // of each round but the first
    std::map<SiteId, SiteSeries> sites;
    std::map<std::pair<uint8_t, Quantity>, std::vector<uint64_t>> troughs;  // by device and quantity: least live bytes

    size_t rounds() const { return begins.size() + 1; }
};

// Watches the second pass. Series are kept of sites that left something or ever had several pieces live at once.
class IterationCounts : public replay::Observer {
public:
    IterationCounts(const Accounts& first_pass, const IterationMarker& marker);

    void on_event(const trace::Event& event) override;
    void on_allocate(const Allocation& allocation) override;
    void on_release(const Allocation& allocation, const replay::Release& release) override;
    void on_restore(const Allocation& allocation, const replay::Release& taken_back, Moment now) override;

    // After the accountant that this is attached to has finished.
    Iterations result(const Accountant& second_pass);

private:
    // Least values by round, filled in when the next change comes.
    struct Lane {
        uint64_t bytes = 0, count = 0;
        size_t round = 0;
        std::vector<uint64_t> least_bytes, least_count;
        void go_to(size_t round);
        void change(size_t round, int64_t bytes, int64_t count);
    };
    struct Record {
        Lane lane;
        SiteSeries series;
    };

    void begin(Moment now);
    Record* wanted(SiteId site);
    void change(const Allocation& allocation, int sign);

    Iterations out_;
    size_t round_ = 0;
    std::vector<bool> wanted_;
    std::map<SiteId, Record> records_;
    std::map<std::pair<uint8_t, Quantity>, Lane> lanes_;
};

}  // namespace vramtrace::accounts
