// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace vramtrace::report {

// What the usual refusals mean in words; nullptr for others. CUresult and cudaError_t agree on these numbers.
constexpr const char* error_text(uint16_t result) {
    switch (result) {
        case 1:
            return "invalid value";
        case 2:
            return "out of memory";
        case 3:
            return "not initialized";
        case 4:
            return "driver shutting down";
        case 100:
            return "no device";
        case 101:
            return "invalid device";
        case 201:
            return "invalid context";
        case 400:
            return "invalid handle";
        case 700:
            return "illegal address in an earlier kernel";
        case 709:
            return "context destroyed";
        case 712:
            return "already registered";
        case 713:
            return "not registered";
        case 719:
            return "an earlier kernel failed";
        case 800:
            return "not permitted";
        case 801:
            return "not supported";
        case 900:
            return "not allowed while a stream is captured";
        case 901:
            return "capture made invalid";
        case 999:
            return "unknown error";
        default:
            return nullptr;
    }
}

}  // namespace vramtrace::report
