// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "analyzer/analysis.h"
#include "analyzer/verdict/finding.h"

namespace vramtrace::gate {

// WHAT IS KNOWN AND NOT ASKED ABOUT AGAIN: a run's findings by call site, and its peaks. Call sites are told apart by the names
// of their functions and files, not by lines or addresses: moving code does not make an old leak new.
struct Baseline {
    struct Known {
        std::string title;  // for readers; nothing hangs on it
        std::string what;   // verdict::class_name
        uint64_t bytes = 0, count = 0;
        double bytes_per_iteration = 0;
    };
    std::map<std::string, Known> sites;     // by site_fingerprint
    std::map<std::string, uint64_t> peaks;  // "0" → bytes of device memory; the greatest of all processes
};

// 16 hexadecimal digits of the call site's function and file names, its class left out: a leak that begins to grow is the
// same call site.
std::string site_fingerprint(const ProcessAnalysis& process, const verdict::Finding& finding);

// Throws std::invalid_argument with one sentence if it is none.
Baseline read_baseline(const std::string& path);
// Written beside and renamed. Throws std::system_error.
void write_baseline(const std::string& path, const Baseline& baseline);

}  // namespace vramtrace::gate
