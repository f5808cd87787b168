// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "shim/api/phases.h"

// RANGES THAT ARE OPEN BEFORE THERE IS A TRACE. A program that wraps its first allocation in a range means it to be in
// that range, but a range alone opens no trace. So open ranges are kept here until the trace opens, and become its first
// events; those that end before leave nothing.
//
//   Free ──keep()──► Filling ──► Open ──drop(): the range ended──► Free
//                                  └────tell(): written to the trace──► Free
//
// No lock: a place belongs to whoever moves it by CAS. All zero, so empty, in a fork's child.
namespace vramtrace::shim {

// False: no room; the range is not seen, its end will be one without a beginning.
bool keep_early_range(const PhaseName& name, uint64_t id, uint64_t domain, Origin origin);

// The innermost one of this thread, or that with `id`. False: there is none.
bool drop_early_range(uint64_t id, uint64_t domain, Origin origin);

// Writes all that are kept to the trace, which is open or being opened by this thread.
void tell_early_ranges();

// Some are kept. One relaxed load.
bool early_ranges_kept();

}  // namespace vramtrace::shim
