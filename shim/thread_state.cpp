// SPDX-License-Identifier: Apache-2.0
#include "shim/thread_state.h"

namespace vramtrace::shim {

static_assert(sizeof(ThreadState) <= 16, "static TLS is scarce: other libraries of the job need it too");

thread_local constinit ThreadState thread_state{};

}  // namespace vramtrace::shim
