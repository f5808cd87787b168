// SPDX-License-Identifier: Apache-2.0
#include "analyzer/print/units.h"

#include <array>
#include <cinttypes>
#include <cstdio>
#include <ctime>

namespace vramtrace::print {

namespace {

template <typename... Values>
std::string formatted(const char* format, Values... values) {
    std::array<char, 96> buffer{};
    const int length = std::snprintf(buffer.data(), buffer.size(), format, values...);
    return {buffer.data(), static_cast<size_t>(length < 0 ? 0 : length)};
}

uint64_t magnitude(int64_t value) {
    return value < 0 ? 0 - static_cast<uint64_t>(value) : static_cast<uint64_t>(value);
}

// part · 100 / whole, rounded down, without overflow.
uint64_t percent_of(uint64_t part, uint64_t whole) {
    constexpr uint64_t kSafe = UINT64_MAX / 100;
    while (part > kSafe) {
        part >>= 8;
        whole >>= 8;
    }
    return whole == 0 ? 0 : part * 100 / whole;
}

}  // namespace

std::string grouped(uint64_t value) {
    std::string digits = std::to_string(value);
    for (size_t at = digits.size(); at > 3; at -= 3) digits.insert(at - 3, 1, ',');
    return digits;
}

std::string grouped_signed(int64_t value) {
    return (value < 0 ? "-" : "") + grouped(magnitude(value));
}

std::string bytes(uint64_t value) {
    static constexpr std::array<const char*, 6> kUnits = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    if (value < 1024) return formatted("%" PRIu64 " B", value);
    unsigned unit = 0;
    while (unit + 1 < kUnits.size() && (value >> (10 * (unit + 2))) != 0) ++unit;
    // Cut, not rounded: "1024 KiB" and "1.00 MiB" for 1,048,575 bytes would both mislead.
    const uint64_t one = 1ULL << (10 * (unit + 1));
    const uint64_t whole = value / one;
    const uint64_t hundredths = percent_of(value % one, one);
    if (whole >= 100) return formatted("%" PRIu64 " %s", whole, kUnits[unit]);
    if (whole >= 10) return formatted("%" PRIu64 ".%" PRIu64 " %s", whole, hundredths / 10, kUnits[unit]);
    return formatted("%" PRIu64 ".%02" PRIu64 " %s", whole, hundredths, kUnits[unit]);
}

std::string signed_bytes(int64_t value) {
    return (value < 0 ? "-" : "") + bytes(magnitude(value));
}

std::string exact_bytes(uint64_t value) {
    if (value < 1024) return counted(value, "byte", "bytes");
    return bytes(value) + " (" + grouped(value) + " bytes)";
}

std::string duration(uint64_t nanoseconds) {
    const double ns = static_cast<double>(nanoseconds);
    if (nanoseconds < 1000) return formatted("%" PRIu64 " ns", nanoseconds);
    if (nanoseconds < 1000000) return formatted("%.0f µs", ns / 1e3);
    if (nanoseconds < 1000000000) return formatted("%.1f ms", ns / 1e6);
    const uint64_t seconds = nanoseconds / 1000000000;
    if (seconds < 60) return formatted("%.2f s", ns / 1e9);
    if (seconds < 3600) return formatted("%" PRIu64 " min %02" PRIu64 " s", seconds / 60, seconds % 60);
    return formatted("%" PRIu64 " h %02" PRIu64 " min", seconds / 3600, seconds / 60 % 60);
}

std::string instant(uint64_t nanoseconds) {
    return formatted("%" PRIu64 ".%06" PRIu64 " s", nanoseconds / 1000000000, nanoseconds / 1000 % 1000000);
}

std::string date_time(uint64_t realtime_nanoseconds) {
    if (realtime_nanoseconds == 0) return "unknown";
    const auto seconds = static_cast<time_t>(realtime_nanoseconds / 1000000000);
    std::tm parts{};
    std::array<char, 64> buffer{};
    if (gmtime_r(&seconds, &parts) == nullptr) return "unknown";
    return {buffer.data(), std::strftime(buffer.data(), buffer.size(), "%Y-%m-%d %H:%M:%S UTC", &parts)};
}

std::string percent(uint64_t part, uint64_t whole) {
    if (whole == 0) return "-";
    const uint64_t value = percent_of(part, whole);
    if (value == 0 && part != 0) return "<1 %";
    return formatted("%" PRIu64 " %%", value);
}

std::string hex(uint64_t value) {
    return formatted("0x%" PRIx64, value);
}

std::string counted(uint64_t count, const char* singular, const char* plural) {
    return grouped(count) + " " + (count == 1 ? singular : plural);
}

}  // namespace vramtrace::print
