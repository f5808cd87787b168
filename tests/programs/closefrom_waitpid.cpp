// SPDX-License-Identifier: Apache-2.0
// A job that looks after its children and descriptors: nothing foreign may turn up. Prints FAIL lines otherwise.
//   - waitpid(-1) knows only our own children, SIGCHLD comes only for them
//   - after closefrom(3) the numbers 3, 4, 5 are ours and stay ours while allocations go on
#include "tests/programs/expect.h"

#include <cuda_runtime_api.h>

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cerrno>
#include <csignal>
#include <cstring>

namespace {

volatile std::sig_atomic_t children_signalled_ = 0;
int failures_ = 0;

void count_child(int) {
    children_signalled_ = children_signalled_ + 1;
}

void demand(bool condition, const char* what) {
    if (condition) return;
    ++failures_;
    std::printf("FAIL %s (errno %d)\n", what, errno);
}

void allocate(size_t bytes) {
    void* pointer = nullptr;
    MUST(cudaMalloc(&pointer, bytes));
    expect("cuMemAlloc_v2", bytes, "cudaMalloc");
    MUST(cudaFree(pointer));
}

/// Time for a process of theirs, if somebody started one, to come, settle and end.
void let_time_pass() {
    for (int i = 0; i < 10; ++i) usleep(20000);
}

bool no_children() {
    errno = 0;
    return waitpid(-1, nullptr, WNOHANG) == -1 && errno == ECHILD;
}

}  // namespace

int main() {
    struct sigaction action = {};
    action.sa_handler = count_child;
    MUST(sigaction(SIGCHLD, &action, nullptr));

    allocate(600001);
    let_time_pass();
    demand(no_children(), "waitpid(-1) knows a child that is not ours");
    demand(children_signalled_ == 0, "SIGCHLD for a child that is not ours");

    closefrom(3);
    const int null_device = open("/dev/null", O_RDWR | O_CLOEXEC);
    int ends[2] = {-1, -1};
    MUST(pipe(ends));
    demand(null_device == 3 && ends[0] == 4 && ends[1] == 5, "descriptors 3, 4, 5 are not free after closefrom(3)");
    struct stat before[3];
    for (int i = 0; i < 3; ++i) MUST(fstat(3 + i, &before[i]));

    for (size_t i = 0; i < 50; ++i) allocate(600011 + 2 * i);
    let_time_pass();
    for (int i = 0; i < 3; ++i) {
        struct stat after = {};
        demand(fstat(3 + i, &after) == 0, "one of our descriptors was closed");
        demand(after.st_dev == before[i].st_dev && after.st_ino == before[i].st_ino,
               "one of our descriptors became something else");
    }
    const char sent = 'x';
    char received = 0;
    demand(write(ends[1], &sent, 1) == 1 && read(ends[0], &received, 1) == 1 && received == sent,
           "our pipe carries something else");

    const pid_t child = fork();
    if (child == 0) _exit(7);
    int status = 0;
    pid_t ended;
    do {
        ended = waitpid(-1, &status, 0);
    } while (ended == -1 && errno == EINTR);
    demand(ended == child && WIFEXITED(status) && WEXITSTATUS(status) == 7, "waitpid(-1) returned a stranger");
    let_time_pass();
    demand(no_children(), "a child is left that is not ours");
    demand(children_signalled_ == 1, "SIGCHLD did not come exactly once");
    std::printf("children signalled %d\n", static_cast<int>(children_signalled_));
    return failures_ == 0 ? 0 : 1;
}
