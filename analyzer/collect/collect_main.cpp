// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>

#include "analyzer/collect/collector.h"
#include "trace/container/mapping_guard.h"

// vramtrace-collect --directory DIR: started by the shim from inside jobs (possibly by several at once) or by
// `vramtrace run`. Exit status: 0 done, or another collector is at work there; 2 usage; 3 the directory is of no use.
namespace {

volatile std::sig_atomic_t stop = 0;

void on_terminate(int) {
    stop = 1;
}

void handle_signals() {
    struct sigaction action = {};
    action.sa_handler = on_terminate;
    sigaction(SIGTERM, &action, nullptr);
    action.sa_handler = SIG_IGN;
    // A terminal's Ctrl-C is for the job, which may well go on; broken pipes and size limits are answered by errno.
    for (const int signal : {SIGINT, SIGQUIT, SIGHUP, SIGPIPE, SIGXFSZ, SIGUSR1, SIGUSR2, SIGTTOU}) {
        sigaction(signal, &action, nullptr);
    }
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, nullptr);
}

// Whoever reads the job's output to its end must not wait for us.
void let_go_of_descriptors() {
    const int nothing = open("/dev/null", O_RDWR);
    for (int fd = 0; fd <= 2 && nothing >= 0; ++fd) dup2(nothing, fd);
#ifdef SYS_close_range
    if (syscall(SYS_close_range, 3U, ~0U, 0U) == 0) return;
#endif
    for (int fd = 3; fd < 4096; ++fd) close(fd);
}

// A number, with K, M, G or T behind it powers of 1024 of it, as in the shim's settings.
bool read_number(const char* text, uint64_t& value) {
    char* end = nullptr;
    if (text == nullptr || *text < '0' || *text > '9') return false;
    const uint64_t number = std::strtoull(text, &end, 10);
    unsigned shift = 0;
    if (*end != '\0') {
        const char* unit = std::strchr("KMGT", *end);
        if (unit == nullptr || end[1] != '\0') return false;
        shift = 10 * static_cast<unsigned>(unit - "KMGT" + 1);
    }
    if (number > (~0ULL >> shift)) return false;
    value = number << shift;
    return true;
}

int usage() {
    std::fputs(
        "usage: vramtrace-collect --directory DIR [--for PID] [--disk-limit BYTES] [--disk-floor BYTES]\n"
        "Drains the rings that jobs under libvramtrace.so write in DIR into their traces, until no job is left.\n"
        "  --for PID           stay as long as this process lives, though it has no ring yet\n"
        "  --disk-limit BYTES  stop writing when the files in DIR take so much (0 = no limit; default "
        "VRAMTRACE_DISK_LIMIT,\n"
        "                      else 4G)\n"
        "  --disk-floor BYTES  stop writing when less is free on the file system, at most 1 % of it (0 = none; "
        "default\n"
        "                      VRAMTRACE_DISK_FLOOR, else 256M)\n",
        stderr);
    return 2;
}

}  // namespace

int main(int argc, char** argv) {
    vramtrace::collect::CollectorOptions options;
    read_number(std::getenv("VRAMTRACE_DISK_LIMIT"), options.disk_limit_bytes);
    read_number(std::getenv("VRAMTRACE_DISK_FLOOR"), options.disk_floor_bytes);
    for (int i = 1; i < argc; i += 2) {
        const char* value = i + 1 < argc ? argv[i + 1] : nullptr;
        if (value == nullptr) return usage();
        uint64_t number = 0;
        if (std::strcmp(argv[i], "--directory") == 0) {
            options.directory = value;
        } else if (!read_number(value, number)) {
            return usage();
        } else if (std::strcmp(argv[i], "--for") == 0) {
            options.stay_for = static_cast<pid_t>(number);
        } else if (std::strcmp(argv[i], "--disk-limit") == 0) {
            options.disk_limit_bytes = number;
        } else if (std::strcmp(argv[i], "--disk-floor") == 0) {
            options.disk_floor_bytes = number;
        } else {
            return usage();
        }
    }
    if (options.directory.empty()) return usage();
    char* absolute = realpath(options.directory.c_str(), nullptr);
    struct stat status = {};
    if (absolute == nullptr || stat(absolute, &status) != 0 || !S_ISDIR(status.st_mode)) {
        std::fprintf(stderr, "vramtrace-collect: %s is not a directory.\n", options.directory.c_str());
        return 3;
    }
    options.directory = absolute;
    std::free(absolute);

    let_go_of_descriptors();
    handle_signals();
    vramtrace::trace::survive_cut_mappings();
    umask(077);
    if (chdir("/") != 0) return 3;  // hold nobody's file system
    try {
        vramtrace::collect::Collector(options).run(stop);
    } catch (const std::exception& error) {
        vramtrace::collect::CollectorLog(options.directory).say(std::string("The collector stops: ") + error.what());
        return 3;
    }
    return 0;
}
