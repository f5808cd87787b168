// SPDX-License-Identifier: Apache-2.0
#include "shim/diagnostics.h"

#include <poll.h>

#include <atomic>
#include <csignal>
#include <cstring>

#include "shim/settings.h"
#include "trace/ring/system_calls.h"

extern "C" const char* strerrordesc_np(int) noexcept;  // glibc 2.32: no locale, no heap

namespace vramtrace::shim {

namespace {

constexpr size_t kLongestLine = 512;  // PIPE_BUF is more: a pipe that polls writable takes it whole

// In .data on purpose: a fork's children do not repeat what their parent said.
constinit std::atomic<bool> said{false};

size_t put(char* line, size_t used, const char* text) {
    for (; *text != '\0' && used + 1 < kLongestLine; ++text) {
        line[used++] = *text >= ' ' && *text != 0x7f ? *text : '?';
    }
    return used;
}

}  // namespace

void complain(const char* what, const char* detail, int error) {
    const trace::KeepErrno keep_errno;
    if (said.exchange(true, std::memory_order_relaxed)) return;
    const Settings* given = settings();
    if (given != nullptr && given->quiet) return;
    char line[kLongestLine];
    size_t used = put(line, 0, "vramtrace: ");
    used = put(line, used, what);
    if (detail != nullptr) used = put(line, used, detail);
    if (error != 0) {
        const char* description = strerrordesc_np(error);
        used = put(line, used, ": ");
        used = put(line, used, description != nullptr ? description : "unknown error");
    }
    line[used++] = '\n';
    pollfd writable{2, POLLOUT, 0};
    const timespec now{};
    if (syscall(SYS_ppoll, &writable, 1, &now, nullptr, sizeof(uint64_t)) != 1 || (writable.revents & POLLOUT) == 0)
        return;
    const trace::BlockSignals block;
    const bool pipe_before = trace::BlockSignals::is_pending(SIGPIPE);
    const bool size_before = trace::BlockSignals::is_pending(SIGXFSZ);
    if (syscall(SYS_write, 2, line, used) < 0) {
        if (errno == EPIPE && !pipe_before) trace::BlockSignals::consume(SIGPIPE);
        if (errno == EFBIG && !size_before) trace::BlockSignals::consume(SIGXFSZ);
    }
}

}  // namespace vramtrace::shim
