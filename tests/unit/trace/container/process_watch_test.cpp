// SPDX-License-Identifier: Apache-2.0
#include "trace/container/process_watch.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>

#include "tests/support/catch.h"

using namespace vramtrace::trace;

namespace {

pid_t sleeping_child() {
    const pid_t pid = fork();
    if (pid == 0) {
        signal(SIGTERM, SIG_DFL);
        while (true) pause();
    }
    return pid;
}

ProcessIdentity identity_of(pid_t pid) {
    ProcessIdentity identity = this_machine();
    identity.pid = static_cast<uint32_t>(pid);
    identity.start_time = start_time_of(identity.pid);
    return identity;
}

}  // namespace

TEST_CASE("a process is alive until it is a zombie, and then never again") {
    const pid_t pid = sleeping_child();
    ProcessWatch watch(identity_of(pid));
    CHECK(watch.alive());
    CHECK_FALSE(watch.stopped());
    kill(pid, SIGSTOP);
    for (int i = 0; i < 1000 && !watch.stopped(); ++i) usleep(1000);
    CHECK(watch.stopped());
    CHECK(watch.alive());
    kill(pid, SIGKILL);
    for (int i = 0; i < 1000 && watch.alive(); ++i) usleep(1000);
    CHECK_FALSE(watch.alive());  // not reaped yet
    waitpid(pid, nullptr, 0);
    CHECK_FALSE(watch.alive());
    CHECK_FALSE(ProcessWatch(identity_of(pid)).alive());
}

TEST_CASE("another process with the same pid is not the one") {
    const pid_t pid = sleeping_child();
    ProcessIdentity identity = identity_of(pid);
    CHECK(identity.start_time > 0);
    identity.start_time -= 1;
    CHECK_FALSE(ProcessWatch(identity).alive());
    identity.start_time = 0;  // not known: the pid must do
    CHECK(ProcessWatch(identity).alive());
    kill(pid, SIGKILL);
    waitpid(pid, nullptr, 0);
}

TEST_CASE("pids mean something in their own boot and PID namespace only") {
    const ProcessIdentity here = this_machine();
    CHECK(std::strlen(here.boot_id) == 36);
    CHECK(here.pid_namespace != 0);
    ProcessIdentity there = here;
    CHECK(of_machine(there, here));
    there.pid_namespace += 1;
    CHECK_FALSE(of_machine(there, here));
    there = here;
    there.boot_id[0] = there.boot_id[0] == '0' ? '1' : '0';
    CHECK_FALSE(of_machine(there, here));
}
