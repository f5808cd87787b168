// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace vramtrace::trace {

// For programs that map rings they did not write: a ring whose file somebody cuts short under the mapping must not kill
// them. From now on the missing pages read as zeros (a slot of zeros was never written), for the whole process.
// A SIGBUS that has nothing to do with a mapped file still ends the process.
void survive_cut_mappings();

}  // namespace vramtrace::trace
