// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <vector>

#include "analyzer/report/report_model.h"

namespace vramtrace::report {

// A call site on its way into a table, with what the table is about.
struct SiteEntry {
    accounts::SiteId site = 0;
    accounts::Amount amount;
    const accounts::Leak* leak = nullptr;
};

// Groups by options.by, sorts by options.sort and cuts at `limit` rows.
Table site_table(const ProcessAnalysis& process, const std::vector<SiteEntry>& entries, const Options& options,
                 size_t limit);

}  // namespace vramtrace::report
