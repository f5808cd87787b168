// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "shim/real/real_functions.h"

// What a reader must know before the first event: the names of our tables, the devices seen, the driver. Published when
// the recorder has opened a trace (again in each fork's child that opens its own), and whenever something new is learnt.
namespace vramtrace::shim {

// Cheap; before every record().
void install_opened_callback();

// At first sight of a device: asks the driver for name, UUID and size, and defines it. One load later on.
void know_device(const DriverCalls& driver, uint8_t device);

// Where the driver was found and which it is: once per process.
void know_driver(const LibraryImage& image);
// A runtime library that a program's calls go to.
void know_runtime(const char* path);

}  // namespace vramtrace::shim
