// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "shim/hooks/function_table.h"
#include "shim/real/real_functions.h"

// From a real function to the wrapper that stands in front of it, by identity of the pointer:
//
//   real answer ──► the library it lies in (an image: driver 0…1, runtime 0…2) ──► which of our functions it is there
//               ──► the wrapper of that function that calls into that image
//
// Version, flags and aliases are right by construction: whatever the real resolver chose is what the wrapper calls, with
// exactly that exported name's types. What is not in our tables passes untouched.
namespace vramtrace::shim {

// Copies of one library that a process can have under wrappers at once. Further ones pass untouched and are told as a
// blind spot (driver) or lose their labels (runtime).
constexpr unsigned kDriverImages = 2;
constexpr unsigned kRuntimeImages = 3;

// The wrapper for `real`, which a look-up of `name` has answered (a base name or an exported one); `real` itself if there
// is none to put in front. `version` only goes into the note about an unknown name.
void* wrapper_for(void* real, const char* name, int version);

// The function behind an image's wrapper. Never nullptr for a wrapper that was handed out.
void* image_function(Library library, unsigned image, unsigned place);

// The driver's own calls for a function of `real`'s library; another preload's function gets those of the loaded driver.
const DriverCalls& driver_calls_of(const void* real);
const DriverCalls& driver_calls_of_image(unsigned image);

// Notes the runtime library that a program's calls go to, for the trace. A few loads once it is known.
void know_runtime_of(const void* real);

// After a dlclose.
void libraries_may_have_gone();

// Filled by driver_wrappers.cpp and runtime_wrappers.cpp: [place][image].
extern const AnyFunction driver_wrappers[kDriverFunctions][kDriverImages];
extern const AnyFunction runtime_wrappers[kRuntimeFunctions][kRuntimeImages];

}  // namespace vramtrace::shim
