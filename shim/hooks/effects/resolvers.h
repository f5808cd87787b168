// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "shim/hooks/effects/effect.h"
#include "shim/hooks/routing.h"

namespace vramtrace::shim::resolvers {

// cuGetProcAddress and its second version alike: the driver answers first, code, status and a missing function stay as
// they are, and a function that we know is replaced by our wrapper of exactly that one.
struct Answers : Making {
    void after(Call&, Result result, const char* symbol, void** function, int version, LongFlags, Enum* = nullptr) {
        if (result != kSuccess || symbol == nullptr || function == nullptr) return;
        *function = wrapper_for(*function, symbol, version);
    }
};

}  // namespace vramtrace::shim::resolvers
