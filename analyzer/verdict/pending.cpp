// SPDX-License-Identifier: Apache-2.0
#include "analyzer/print/units.h"
#include "analyzer/verdict/rules.h"

namespace vramtrace::verdict {

std::vector<Finding> pending(const ProcessAnalysis& process) {
    std::vector<Finding> findings;
    for (const auto& [device, instant] : process.accounts.devices) {
        const auto bytes = instant.now.bytes(instant::Part::PoolPending);
        if (!bytes || *bytes <= 0) continue;
        Finding finding;
        finding.what = Class::Pending;
        finding.device = device;
        finding.amount.bytes = static_cast<uint64_t>(*bytes);
        finding.title = "pending: " + print::bytes(finding.amount.bytes) + " on device " + std::to_string(device) +
                        " are freed and wait for their stream";
        finding.evidence.push_back("pools say that " + print::exact_bytes(finding.amount.bytes) +
                                   " more are in use than the program's own order of calls has live");
        finding.remedy = "Synchronise the stream that frees, or allocate from the same stream.";
        findings.push_back(std::move(finding));
    }
    return findings;
}

}  // namespace vramtrace::verdict
