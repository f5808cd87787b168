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
//   STEM.where                  one line: the PREFIX of ring and definitions when they lie elsewhere (in /dev/shm, because
//                               the trace directory is on a network): PREFIX.ring, PREFIX.ring.1, …, PREFIX.defs.
//                               Without it PREFIX is DIRECTORY/STEM.
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

constexpr size_t kMaxPath = 4096;

// Suffixes of the files of one process.
namespace suffix {
constexpr char kRing[] = ".ring";
constexpr char kDefinitions[] = ".defs";
constexpr char kContainer[] = ".trace";
constexpr char kWhere[] = ".where";
}  // namespace suffix

// PREFIX.ring or PREFIX.ring.SEGMENT; returns the length, or 0 if it did not fit.
size_t ring_path(const char* prefix, uint32_t segment, char* buffer, size_t buffer_bytes);

// PREFIX + suffix; returns the length, or 0 if it did not fit.
size_t suffixed_path(const char* prefix, const char* suffix, char* buffer, size_t buffer_bytes);

// The prefix of the ring of `stem` in `directory`: what STEM.where says (absolute, one line), else DIRECTORY/STEM.
// Returns the length, or 0 if it did not fit or the pointer file is damaged.
size_t ring_prefix(const char* directory, const char* stem, char* buffer, size_t buffer_bytes);

// Does `name` (without directory) name a file of a process? Then the length of its stem, and `suffix_begin` points at the
// suffix inside `name` (".ring", ".ring.3", ".defs", ".trace", ".where"); else 0.
size_t stem_length(const char* name, const char** suffix_begin);

}  // namespace vramtrace::trace
