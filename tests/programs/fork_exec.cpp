// SPDX-License-Identifier: Apache-2.0
// How processes begin and end: fork_exec MODE
//   fork-idle      the parent uses CUDA; a forked child does not and exits normally
//   fork-child     only the forked child uses CUDA
//   fork-both      the parent uses CUDA; in the child it must fail cleanly, and the parent goes on
//   fork-exec      fork, then exec of this program in mode "leaf"
//   vfork-exec     the same with vfork
//   exec           uses CUDA, then becomes "leaf" in place
//   threads        threads come and go, each allocates
//   return · exit · _exit · quick_exit · abort · terminate (SIGTERM) · segv · kill (SIGKILL): ways to end, each after
//                  one allocation that stays
//   leaf           one allocation, then return
#include "tests/programs/expect.h"

#include <cuda_runtime_api.h>

#include <sys/wait.h>
#include <unistd.h>
#include <csignal>
#include <cstring>
#include <string>
#include <thread>

namespace {

void* allocate(size_t bytes) {
    void* pointer = nullptr;
    MUST(cudaMalloc(&pointer, bytes));
    expect("cuMemAlloc_v2", bytes, "cudaMalloc");
    return pointer;
}

void allocate_and_free(size_t bytes) {
    MUST(cudaFree(allocate(bytes)));
}

void leak(size_t bytes) {
    (void)allocate(bytes);
    kept("cuMemAlloc_v2", bytes);
}

void wait_for(pid_t child, int expected) {
    int status = 0;
    MUST_HOLD(waitpid(child, &status, 0) == child);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != expected) fail("child", status);
}

void say_who(const char* role) {
    std::printf("process %s %d\n", role, static_cast<int>(getpid()));
    std::fflush(stdout);
}

void fork_idle() {
    leak(400001);
    const pid_t child = fork();
    if (child == 0) std::exit(0);  // runs the exit handlers of everything the parent loaded
    wait_for(child, 0);
    allocate_and_free(400003);
}

void fork_child() {
    const pid_t child = fork();
    if (child == 0) {
        say_who("child");
        leak(400011);
        allocate_and_free(400013);
        std::exit(0);
    }
    wait_for(child, 0);
}

void fork_both() {
    leak(400021);
    const pid_t child = fork();
    if (child == 0) {
        say_who("child");
        void* pointer = nullptr;
        const cudaError_t error = cudaMalloc(&pointer, 400023);
        std::printf("child cudaMalloc %d\n", static_cast<int>(error));
        std::exit(error == cudaSuccess ? 1 : 0);
    }
    wait_for(child, 0);
    leak(400025);
}

void run_leaf(bool use_vfork) {
    leak(400031);
    std::fflush(stdout);
    char* const arguments[] = {const_cast<char*>("/proc/self/exe"), const_cast<char*>("leaf"), nullptr};
    pid_t child;
    if (use_vfork) {
        child = vfork();
        if (child == 0) {
            execv("/proc/self/exe", arguments);
            _exit(1);
        }
    } else {
        child = fork();
        if (child == 0) {
            execv("/proc/self/exe", arguments);
            _exit(1);
        }
    }
    wait_for(child, 0);
    allocate_and_free(400033);
}

void become_leaf() {
    leak(400041);
    std::fflush(stdout);
    char* const arguments[] = {const_cast<char*>("/proc/self/exe"), const_cast<char*>("leaf"), nullptr};
    execv("/proc/self/exe", arguments);
    fail("execv", 0);
}

void threads_come_and_go() {
    for (size_t round = 0; round < 8; ++round) {
        std::thread first([=] { allocate_and_free(400101 + 10 * round); });
        std::thread second([=] { leak(400105 + 10 * round); });
        first.join();
        second.join();
    }
}

void end_by(const std::string& how) {
    leak(400051);
    std::fflush(stdout);
    if (how == "exit") std::exit(5);
    if (how == "_exit") _exit(6);
    if (how == "quick_exit") std::quick_exit(7);
    if (how == "abort") std::abort();
    if (how == "terminate") std::raise(SIGTERM);
    if (how == "segv") std::raise(SIGSEGV);
    if (how == "kill") std::raise(SIGKILL);
}

}  // namespace

int main(int argc, char** argv) {
    const std::string mode = argc > 1 ? argv[1] : "return";
    say_who(mode == "leaf" ? "leaf" : "parent");
    if (mode == "fork-idle")
        fork_idle();
    else if (mode == "fork-child")
        fork_child();
    else if (mode == "fork-both")
        fork_both();
    else if (mode == "fork-exec")
        run_leaf(false);
    else if (mode == "vfork-exec")
        run_leaf(true);
    else if (mode == "exec")
        become_leaf();
    else if (mode == "threads")
        threads_come_and_go();
    else if (mode == "leaf")
        leak(400061);
    else
        end_by(mode);
    return 0;
}
