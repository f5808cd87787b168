// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "trace/process_header.h"

// NAMES IN A TRACE DIRECTORY. All files of one process share a stem, HOST.PID.START.COUNTER (host: letters, digits,
// '-' and '_' of the nodename, others become '_'):
//   STEM.ring, STEM.ring.1, …   ring segments, while the job lives or when no collector drained them
//   STEM.defs                   definition image, as long as there is a ring
//   STEM.trace                  the container
//   collector.lock              held by the one collector of the directory; collector.log its words
//   run.json                    written by `vramtrace run`: command, exit status, times
//   symbols.json                names of the addresses seen (vramtrace symbolize)
// No heap, no exceptions: the shim uses this too.
namespace vramtrace::trace {

constexpr size_t kMaxStem = 128;

// Writes the stem of `identity` with NUL; returns its length, or 0 if it did not fit.
size_t trace_stem(const ProcessIdentity& identity, char* buffer, size_t buffer_bytes);

// Expands %h host, %p pid, %t start of recording (seconds since 1970), %n SLURM_PROCID/OMPI_COMM_WORLD_RANK/RANK or 0, %% in
// `pattern`. Returns the length, or 0 if it did not fit or the pattern has an unknown placeholder.
size_t expand_pattern(const char* pattern, const ProcessIdentity& identity, const char* rank, char* buffer,
                      size_t buffer_bytes);

}  // namespace vramtrace::trace
