// SPDX-License-Identifier: Apache-2.0
#pragma once

// Ways to the driver that pass us by, found by looking at what the loader has bound:
//  - an object loaded with RTLD_DEEPBIND that uses CUDA: its dlsym (or its cuMemAlloc_v2) is libc's (the driver's) own
//  - a driver or runtime in another namespace (dlmopen), whose libc is not ours
// Each is reported once, as Event BlindSpot with a sentence. Nothing is looked for before somebody has called dlopen with
// RTLD_DEEPBIND or dlmopen with a new namespace.
namespace vramtrace::shim {

void note_deepbind();   // a dlopen with RTLD_DEEPBIND is about to happen
void note_namespace();  // a dlmopen into another namespace is about to happen

// A sentence found elsewhere; `detail` (a path or a name) is put in for the one %s in it. The same sentence once only.
void note_blind_spot(const char* sentence, const char* detail);

// Looks again if it has to, and records what is new. One load when there is nothing to do. Opens the trace if a blind spot
// was found: what cannot be seen may be all there is.
void report_blind_spots();

}  // namespace vramtrace::shim
