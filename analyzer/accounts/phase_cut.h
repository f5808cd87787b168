// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "analyzer/accounts/accounts.h"
#include "analyzer/replay/observer.h"

// ACCOUNTS OF A PHASE ALONE. The replay sees every event; what is counted is cut to windows: the times when at least one
// range of the phase is open.
//
//   born in a window      call sites, what is left, churn, handles, totals but for the peak
//   inside windows        the peak (of all that is live then, whenever it was born), failures, refused releases
namespace vramtrace::accounts {

// "step", "epoch/step", "epoch/*", "*[0-9]": the end of a path, name by name, with the shell's wildcards ("*" takes "/").
bool path_matches(const std::string& pattern, std::string_view path);

class PhaseCut {
public:
    // Once a range event; true if a window has just opened.
    bool update(bool open, bool began, Moment now) {
        const bool opened = open && !open_;
        if (began) ++window_.ranges;
        if (opened) {
            if (window_.windows++ == 0) window_.first = now;
            opened_ = now;
        }
        if (open_ && !open) close(now);
        open_ = open;
        return opened;
    }
    bool open() const { return open_; }
    // Born in a window.
    static bool counts(const Allocation& allocation) { return (allocation.tag & 1) != 0; }

    PhaseWindow window(const std::string& pattern, Moment now) const {
        PhaseCut copy = *this;
        copy.window_.open = open_;
        if (copy.open_) copy.close(now);
        copy.window_.pattern = pattern;
        return copy.window_;
    }

private:
    void close(Moment now) {
        window_.duration += now.time > opened_.time ? now.time - opened_.time : 0;
        window_.last = now;
    }

    PhaseWindow window_;
    Moment opened_;
    bool open_ = false;
};

// Stands between the replay and an observer that counts, and lets through what the cut leaves. Without a cut: everything.
class Gate : public replay::Observer {
public:
    enum class Births : bool { All = false, InWindows = true };
    Gate(replay::Observer& inner, const PhaseCut* cut, Births births) : inner_(inner), cut_(cut), births_(births) {}

    void on_event(const trace::Event& event) override { inner_.on_event(event); }
    void on_allocate(const Allocation& allocation) override {
        if (lets(allocation)) inner_.on_allocate(allocation);
    }
    void on_release(const Allocation& allocation, const replay::Release& release) override {
        if (lets(allocation)) inner_.on_release(allocation, release);
    }
    void on_restore(const Allocation& allocation, const replay::Release& taken_back, Moment now) override {
        if (lets(allocation)) inner_.on_restore(allocation, taken_back, now);
    }
    void on_context_lost(const Allocation& allocation, const replay::Release& was) override {
        if (lets(allocation)) inner_.on_context_lost(allocation, was);
    }
    void on_in_flight(const Allocation& allocation, const replay::Release& was) override {
        if (lets(allocation)) inner_.on_in_flight(allocation, was);
    }
    void on_context_end(const trace::Event& event) override { inner_.on_context_end(event); }
    void on_failed(const trace::Event& event, SiteId site) override {
        if (cut_ == nullptr || cut_->open()) inner_.on_failed(event, site);
    }
    void on_refused(const trace::Event& refusal, const replay::Release& refused) override {
        if (cut_ == nullptr || cut_->open()) inner_.on_refused(refusal, refused);
    }
    void on_pool_sample(const replay::PoolSample& sample) override { inner_.on_pool_sample(sample); }
    void on_block(const replay::BlockChange& change) override { inner_.on_block(change); }
    void on_segment(const replay::SegmentChange& change) override { inner_.on_segment(change); }

private:
    bool lets(const Allocation& allocation) const {
        return cut_ == nullptr || births_ == Births::All || PhaseCut::counts(allocation);
    }

    replay::Observer& inner_;
    const PhaseCut* cut_;
    Births births_;
};

}  // namespace vramtrace::accounts
