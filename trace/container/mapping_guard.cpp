// SPDX-License-Identifier: Apache-2.0
#include "trace/container/mapping_guard.h"

#include <signal.h>
#include <sys/mman.h>

#include <cerrno>
#include <cstdint>

namespace vramtrace::trace {
namespace {

constexpr uintptr_t kPage = 4096;

// Runs on the thread that touched the page; mmap is a plain system call and safe here.
void put_zeros(int signal, siginfo_t* info, void*) {
    const int saved = errno;
    auto* page = reinterpret_cast<void*>(reinterpret_cast<uintptr_t>(info->si_addr) & ~(kPage - 1));
    const bool cut = info->si_code == BUS_ADRERR && page != nullptr;
    if (!cut ||
        mmap(page, kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == MAP_FAILED) {
        ::signal(signal, SIG_DFL);  // the access is made again and ends us
    }
    errno = saved;
}

}  // namespace

void survive_cut_mappings() {
    struct sigaction action = {};
    action.sa_sigaction = put_zeros;
    action.sa_flags = SA_SIGINFO;
    sigaction(SIGBUS, &action, nullptr);
}

}  // namespace vramtrace::trace
