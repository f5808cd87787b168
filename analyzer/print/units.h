// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

// How numbers are spelt. Binary units everywhere, and named as such: a MiB is 1,048,576 bytes.
namespace vramtrace::print {

std::string grouped(uint64_t value);        // "1,048,576"
std::string grouped_signed(int64_t value);  // "-1,048,576"
// "512 B", "1.50 MiB", "2.00 GiB": three significant digits, never rounded up to the next unit's 1024.
std::string bytes(uint64_t value);
std::string signed_bytes(int64_t value);
// "1.50 MiB (1,572,864 bytes)"; below 1 KiB only "512 bytes".
std::string exact_bytes(uint64_t value);
// "12 µs", "3.4 ms", "1.25 s", "2 min 05 s", "3 h 02 min"
std::string duration(uint64_t nanoseconds);
// Seconds since the recording began, for instants: "0.001234 s"
std::string instant(uint64_t nanoseconds);
// "2026-11-30 22:13:53 UTC" from CLOCK_REALTIME nanoseconds; "unknown" for 0.
std::string date_time(uint64_t realtime_nanoseconds);
std::string percent(uint64_t part, uint64_t whole);  // "42 %", "<1 %", "-" if whole is 0
std::string hex(uint64_t value);                     // "0x7f00"
// "1 allocation", "2,000 allocations"
std::string counted(uint64_t count, const char* singular, const char* plural);

}  // namespace vramtrace::print
