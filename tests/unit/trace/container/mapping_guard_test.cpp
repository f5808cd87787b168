// SPDX-License-Identifier: Apache-2.0
#include "trace/container/mapping_guard.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/support/catch.h"
#include "tests/support/scratch_directory.h"

using namespace vramtrace;

namespace {

// Maps four pages of 'x', cuts the file to one, reads the third. Exit 0: it was zero and the first is untouched.
int read_behind_the_end(const std::string& path, bool guarded) {
    const pid_t child = fork();
    if (child == 0) {
        signal(SIGBUS, SIG_DFL);
        if (guarded) trace::survive_cut_mappings();
        test::write_file(path, std::vector<std::byte>(4 * 4096, std::byte{'x'}));
        const int fd = open(path.c_str(), O_RDWR);
        auto* bytes = static_cast<volatile char*>(mmap(nullptr, 4 * 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0));
        if (ftruncate(fd, 4096) != 0) _exit(9);
        const char behind = bytes[2 * 4096 + 7];
        bytes[2 * 4096 + 8] = 1;
        _exit(behind == 0 && bytes[0] == 'x' ? 0 : 1);
    }
    int status = 0;
    waitpid(child, &status, 0);
    return status;
}

}  // namespace

TEST_CASE("a file cut short under its mapping reads as zeros instead of ending the process") {
    test::ScratchDirectory scratch;
    const int unguarded = read_behind_the_end(scratch.file("a"), false);
    CHECK((!WIFEXITED(unguarded) || WEXITSTATUS(unguarded) != 0));
    const int guarded = read_behind_the_end(scratch.file("a"), true);
    CHECK(WIFEXITED(guarded));
    CHECK(WEXITSTATUS(guarded) == 0);
}
