// SPDX-License-Identifier: Apache-2.0
#include "trace/container/format_check.h"

#include <cstring>

#include "trace/container/input_error.h"

namespace vramtrace::trace {

void check_format(const std::string& path, std::span<const std::byte> front, const char (&magic)[8],
                  size_t least_header_bytes) {
    if (front.empty()) throw InputError(path + " is empty: nothing was recorded in it.");
    const size_t known = front.size() < sizeof(magic) ? front.size() : sizeof(magic);
    if (std::memcmp(front.data(), magic, known) != 0) {
        throw InputError(path + " is not a vramtrace trace (it does not begin with " +
                         std::string(magic, sizeof(magic)) + ").");
    }
    const auto cut_off = [&] {
        return InputError(path + " is cut off in its header: only " + std::to_string(front.size()) +
                          " bytes are left.");
    };
    if (front.size() < sizeof(FormatHeader)) throw cut_off();
    FormatHeader format;
    std::memcpy(&format, front.data(), sizeof(format));
    if (format.byte_order != kByteOrder || format.word_bytes != sizeof(void*)) {
        throw InputError(path + " was written on another kind of machine (byte order or word size differ).");
    }
    if (format.major > kFormatMajor) {
        throw InputError(path + " has format " + std::to_string(format.major) + "." + std::to_string(format.minor) +
                         ", this program reads up to " + std::to_string(kFormatMajor) +
                         ".x: please use a newer vramtrace.");
    }
    if (front.size() < least_header_bytes) throw cut_off();
    if (format.header_bytes < least_header_bytes || format.header_bytes > (1U << 20)) {
        throw InputError(path + " has a damaged header (its length cannot be right).");
    }
}

}  // namespace vramtrace::trace
