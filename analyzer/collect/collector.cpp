// SPDX-License-Identifier: Apache-2.0
#include "analyzer/collect/collector.h"

#include <dirent.h>
#include <poll.h>
#include <signal.h>
#include <sys/inotify.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string_view>

#include "trace/container/block_file.h"
#include "trace/container/input_error.h"
#include "trace/container/test_point.h"
#include "trace/trace_name.h"

namespace vramtrace::collect {

using namespace trace;

namespace {

constexpr uint64_t kMillisecond = 1'000'000;
constexpr uint64_t kSecond = 1'000'000'000;
constexpr uint64_t kRingPatience = 2 * kSecond;  // for a ring that is being made
constexpr int kBusyWait = 5, kLongestWait = 50;  // ms

constexpr char kDamaged[] = "its ring is damaged; what could be read is in the container, the ring stays.";

uint64_t monotonic() {
    timespec now{};
    clock_gettime(CLOCK_MONOTONIC, &now);
    return static_cast<uint64_t>(now.tv_sec) * kSecond + static_cast<uint64_t>(now.tv_nsec);
}

std::set<std::string> stems_in(const std::string& directory, std::string_view wanted_suffix) {
    std::set<std::string> stems;
    DIR* entries = opendir(directory.c_str());
    if (entries == nullptr) return stems;
    while (const dirent* entry = readdir(entries)) {
        const char* suffix = nullptr;
        const size_t length = stem_length(entry->d_name, &suffix);
        if (length > 0 && suffix == wanted_suffix) stems.emplace(entry->d_name, length);
    }
    closedir(entries);
    return stems;
}

}  // namespace

Collector::Collector(const CollectorOptions& options)
    : options_(options), log_(options.directory), lock_(options.directory), machine_(this_machine()) {
    if (options_.stay_for > 0) {
        ProcessIdentity process = machine_;
        process.pid = static_cast<uint32_t>(options_.stay_for);
        process.start_time = start_time_of(process.pid);
        stay_for_ = std::make_unique<ProcessWatch>(process);
    }
}

bool Collector::take_lock(const volatile std::sig_atomic_t& stop) {
    const uint64_t until = monotonic() + options_.lock_patience;
    while (!lock_.acquire(machine_)) {
        if (lock_.error() != 0) {
            log_.say("collector.lock cannot be locked (" + std::string(std::strerror(lock_.error())) +
                     "): rings stay undrained, the report reads them.");
            return false;
        }
        if (stop != 0 || monotonic() >= until) return false;
        wait(20);
    }
    return true;
}

bool Collector::run(const volatile std::sig_atomic_t& stop) {
    if (!take_lock(stop)) return false;
    test_point("lock taken");
    watch_fd_ = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
    if (watch_fd_ >= 0) inotify_add_watch(watch_fd_, options_.directory.c_str(), IN_CREATE | IN_MOVED_TO);
    int pause = kBusyWait;
    uint64_t last_job = monotonic();
    while (stop == 0) {
        const uint64_t now = monotonic();
        if (!lock_.still_named() && !lock_.acquire(machine_)) {
            log_.say("collector.lock was removed and another collector has taken it: leaving the rings to that one.");
            break;
        }
        scan(now, false);
        check_space(now);
        pause = round(now) ? kBusyWait : std::min(pause * 2, kLongestWait);
        if (anybody_left(now)) last_job = now;
        if (now - last_job >= options_.idle_exit) {
            // A job may come while we go; its own collector found us holding the lock. So: let go, then look once more.
            lock_.release();
            scan(now, true);
            if (!anybody_left(now) || !lock_.acquire(machine_)) break;
            last_job = now;
        }
        wait(pause);
    }
    leave();
    if (watch_fd_ >= 0) close(watch_fd_);
    watch_fd_ = -1;
    return true;
}

// Sleeps; wakes at once when a process ends, something appears in the directory, or a signal asks to stop.
void Collector::wait(int milliseconds) {
    std::vector<pollfd> wakers;
    if (watch_fd_ >= 0) wakers.push_back({watch_fd_, POLLIN, 0});
    for (const auto& [stem, job] : jobs_) {
        const int fd = job.drain->watch().descriptor();
        if (fd >= 0 && job.drain->watch().alive()) wakers.push_back({fd, POLLIN, 0});
    }
    poll(wakers.data(), wakers.size(), milliseconds);
}

void Collector::scan(uint64_t now, bool at_once) {
    char events[4096];
    while (watch_fd_ >= 0 && read(watch_fd_, events, sizeof(events)) > 0) news_ = true;
    const bool soon = news_ || watch_fd_ < 0 || waiting_for_ring(now);
    if (!at_once && now - scan_time_ < (soon ? kLongestWait * kMillisecond : kSecond)) return;
    scan_time_ = now;
    news_ = false;
    // Definitions without a ring: a collector died while it removed both, or the ring is just being made.
    for (const char* suffix : {suffix::kRing, suffix::kWhere, suffix::kDefinitions}) {
        for (const std::string& stem : stems_in(options_.directory, suffix)) {
            if (!jobs_.contains(stem) && !ignored_.contains(stem)) consider(stem, now);
        }
    }
}

bool Collector::waiting_for_ring(uint64_t now) const {
    return std::any_of(not_ready_.begin(), not_ready_.end(),
                       [now](const auto& entry) { return now - entry.second < kRingPatience; });
}

void Collector::complain(const std::string& stem, const std::string& sentence) {
    if (said_.insert(stem + sentence).second) log_.say(stem + ": " + sentence);
}

void Collector::consider(const std::string& stem, uint64_t now) {
    auto drain = std::make_unique<RingDrain>(options_.directory, stem);
    const OpenError error = drain->open_ring();
    if (error == OpenError::NotReady || error == OpenError::NotFound) {
        // Being created, or removed, just now; or what a collector left that died while removing.
        const uint64_t since = not_ready_.try_emplace(stem, now).first->second;
        if (now - since < kRingPatience) return;
        if (error == OpenError::NotReady) complain(stem, "its ring was never completed.");
        if (error == OpenError::NotFound) remove_leftovers(stem);
        return;
    }
    not_ready_.erase(stem);
    if (error != OpenError::None) {
        complain(stem, std::string("left alone, its ring ") + open_error_text(error) + ".");
        ignored_.insert(stem);
        return;
    }
    // Pids and clocks of another machine or container mean nothing here; its own collector drains its rings.
    if (!of_machine(drain->identity(), machine_)) {
        ignored_.insert(stem);
        return;
    }
    std::string problem;
    if (!drain->open_container(problem)) {
        complain(stem, "no container: " + problem + " The ring keeps its events.");
        ignored_.insert(stem);
        return;
    }
    if (drain->cut_bytes() > 0) {
        log_.say(stem + ": continued; " + std::to_string(drain->cut_bytes()) + " bytes of a torn block were cut off.");
    }
    // A second ring of one process: it has exec'ed another program in place, nobody writes into the first any more.
    const ProcessIdentity& mine = drain->identity();
    Job job;
    for (auto& [other_stem, other] : jobs_) {
        const ProcessIdentity& its = other.drain->identity();
        if (other.finished || its.pid != mine.pid || its.start_time != mine.start_time) continue;
        if (its.counter < mine.counter) other.replaced = true;
        if (its.counter > mine.counter) job.replaced = true;
    }
    job.drain = std::move(drain);
    jobs_.emplace(stem, std::move(job));
}

bool Collector::round(uint64_t now) {
    bool busy = false;
    for (auto& [stem, job] : jobs_) {
        if (job.finished) continue;
        // Asked before the round: what the process wrote before it died is then surely in the ring.
        if (!job.drain->watch().alive() || job.replaced) {
            if (now < job.retry) continue;
            finish_job(job, now);
            busy = true;
            continue;
        }
        const RingDrain::Round round = job.drain->round(now, may_write_);
        busy = busy || (round.busy && !round.blocked);
        if (round.blocked != job.blocked) {
            job.blocked = round.blocked;
            const std::string why = !may_write_ ? no_space_ : std::strerror(job.drain->error());
            log_.say(stem + (job.blocked ? ": cannot be written (" + why + "); the ring keeps its events."
                                         : ": is written again."));
            if (job.blocked) job.drain->note("For a time the collector could not write (" + why + ").");
        }
        if (job.drain->damaged()) complain(stem, kDamaged);
    }
    std::erase_if(jobs_, [this](const auto& entry) {
        if (entry.second.finished) ignored_.insert(entry.first);
        return entry.second.finished;
    });
    return busy;
}

void Collector::finish_job(Job& job, uint64_t now) {
    using End = SourceStatus::End;
    if (may_write_ && job.drain->finish(now, job.replaced ? End::Exec : End::Vanished)) {
        job.finished = true;
        if (job.drain->damaged()) complain(job.drain->stem(), kDamaged);
        return;
    }
    job.retry = now + kSecond;
    const std::string why = !may_write_ ? no_space_ : std::strerror(job.drain->error());
    job.blocked = true;
    complain(job.drain->stem(), "cannot be completed (" + why + "); the ring keeps its events.");
}

// The order of removal is segments, ring, definitions: definitions alone belong to a container that is complete.
void Collector::remove_leftovers(const std::string& stem) {
    const std::string container = options_.directory + "/" + stem + suffix::kContainer;
    bool ended = false;
    try {
        BlockFile file(container, BlockFile::Payloads::HeadersOnly);
        while (file.next()) ended = file.block().kind == BlockKind::End;
    } catch (const InputError&) {
        return;
    }
    std::vector<char> prefix(kMaxPath);
    if (!ended || ring_prefix(options_.directory.c_str(), stem.c_str(), prefix.data(), prefix.size()) == 0) return;
    RingFiles(prefix.data(), FileMode::ReadOnly, false).remove_all();
    unlink((options_.directory + "/" + stem + suffix::kWhere).c_str());
    not_ready_.erase(stem);
    ignored_.insert(stem);
}

void Collector::check_space(uint64_t now) {
    if (space_time_ != 0 && now - space_time_ < kSecond) return;
    space_time_ = now;
    struct statvfs disk = {};
    const bool known = statvfs(options_.directory.c_str(), &disk) == 0 && disk.f_blocks > 0;
    const uint64_t free = uint64_t{disk.f_bavail} * disk.f_frsize;
    const uint64_t floor = std::min<uint64_t>(options_.disk_floor_bytes, uint64_t{disk.f_blocks} * disk.f_frsize / 100);
    std::string why;
    if (options_.disk_limit_bytes > 0 && directory_bytes(options_.directory.c_str()) >= options_.disk_limit_bytes) {
        why = "the directory has reached its limit of " + std::to_string(options_.disk_limit_bytes >> 20) + " MiB";
    } else if (known && free < floor) {
        why = "only " + std::to_string(free >> 20) + " MiB are free on its file system";
    }
    no_space_ = why;
    may_write_ = why.empty();
}

bool Collector::anybody_left(uint64_t now) {
    if (stay_for_ != nullptr && stay_for_->alive()) return true;
    if (waiting_for_ring(now)) return true;
    // What cannot be completed for want of space is not waited for: the report reads the ring.
    return std::any_of(jobs_.begin(), jobs_.end(), [](auto& entry) {
        return entry.second.drain->watch().alive() ? !entry.second.finished : !entry.second.blocked;
    });
}

void Collector::leave() {
    const uint64_t now = monotonic();
    for (auto& [stem, job] : jobs_) {
        if (!may_write_ || !job.drain->flush(now))
            complain(stem, "could not be written at the end; the ring keeps its events.");
        job.drain->leave();
    }
    jobs_.clear();
    lock_.release();
}

}  // namespace vramtrace::collect
