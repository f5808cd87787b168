// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "shim/api/nvtx_types.h"
#include "shim/api/phases.h"

// NAMES THAT NVTX GIVES ONCE AND USES OFTEN: registered strings and domains. A handle is the address of what it names, in
// memory of ours that is never given back and, unlike the arena, is there in a fork's child too: the program keeps using
// handles that its parent got. The same text gives the same handle, so that a program which registers again and again
// costs nothing; beyond a bound new ones get no handle, which NVTX allows and which means "no name".
namespace vramtrace::shim::nvtx {

struct Registered;

const Registered* register_name(const char* text);
const Registered* register_name(const wchar_t* text);

// UTF-32 to UTF-8; what is no character becomes "?".
void take_wide_name(PhaseName& to, const wchar_t* text);

// "name", or "domain:name" in a domain that has one. `message` as in Attributes.
void take_message(PhaseName& to, const Registered* domain, MessageType type, const void* message);

// What tells domains apart in events; 0 = the default one.
uint64_t domain_number(const Registered* domain);

}  // namespace vramtrace::shim::nvtx
