// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "shim/real/elf_symbols.h"

// What a call that reached one of our exported functions would have reached without us. A program bound "cudaMalloc" to
// our export because we are loaded first; its own choice depends on who asks: several runtimes may live in one process,
// each in the dependency tree of the plugin that wants it, and other preloads may stand between us and them.
namespace vramtrace::shim {

// Definition of `name` for the code at `caller`, never one of our own. In this order, as the loader would search, minding
// the symbol version that the caller's object asks for:
//   1. the objects of program start after us (other preloads, the program's libraries)
//   2. the caller's object and its dependency tree
//   3. the trees of other objects that refer to `name`: the caller may have been tail-called, and then its return address
//      belongs to somebody else
//   4. any object that defines it
// nullptr: nobody does. Takes the loader's list lock; cold path.
void* definition_without_us(const char* name, const void* caller);

// The same, remembered per place of call until forget_links(). `id` must be unique to `name`.
void* linked_function(unsigned id, const char* name, const void* caller);

// After a dlclose: addresses may belong to somebody else from now on.
void forget_links();

// The next definition of a loader function ("dlsym") after us: another preload's, else libc's (libdl's).
void* next_in_scope(const char* name);

// Whether an object other than ours defines `name`.
bool defined_elsewhere(const char* name);

// Our own object, found by an address in it.
bool is_ours(const void* address);

}  // namespace vramtrace::shim
