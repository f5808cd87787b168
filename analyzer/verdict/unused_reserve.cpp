// SPDX-License-Identifier: Apache-2.0
#include "analyzer/print/units.h"
#include "analyzer/verdict/rules.h"

namespace vramtrace::verdict {

std::vector<Finding> unused_reserve(const ProcessAnalysis& process) {
    std::vector<Finding> findings;
    for (const auto& [device, instant] : process.accounts.devices) {
        const auto bytes = instant.now.bytes(instant::Part::PoolUnused);
        if (!bytes || *bytes <= 0) continue;
        Finding finding;
        finding.what = Class::UnusedReserve;
        finding.device = device;
        finding.amount.bytes = static_cast<uint64_t>(*bytes);
        finding.title = "unused reserve: pools of device " + std::to_string(device) + " hold " +
                        print::bytes(finding.amount.bytes) + " that nothing uses";
        for (const auto& pool : process.accounts.pools) {
            if (pool.device != device || !pool.last) continue;
            finding.evidence.push_back("pool " + (pool.pool == 0 ? "default" : print::hex(pool.pool)) + ": reserved " +
                                       print::bytes(pool.last->reserved) + ", used " + print::bytes(pool.last->used));
        }
        finding.remedy = "cudaMemPoolTrimTo gives it back; a lower release threshold keeps it from piling up.";
        findings.push_back(std::move(finding));
    }
    return findings;
}

}  // namespace vramtrace::verdict
