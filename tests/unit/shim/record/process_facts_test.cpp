// SPDX-License-Identifier: Apache-2.0
#include "shim/record/process_facts.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <string>

#include "tests/support/catch.h"

using namespace vramtrace;
using namespace vramtrace::shim;

namespace {

std::string masked(std::string command, size_t room = 1000) {
    for (char& c : command) {
        if (c == ' ') c = '\0';
    }
    command += '\0';
    std::string out(room, '?');
    out.resize(mask_command_line(command.data(), command.size(), out.data(), room));
    for (char& c : out) {
        if (c == '\0') c = ' ';
    }
    return out;
}

}  // namespace

TEST_CASE("secrets in a command line") {
    CHECK(masked("python train.py --batch 32") == "python train.py --batch 32 ");
    CHECK(masked("x --token=abc --lr=1") == "x --token=*** --lr=1 ");
    CHECK(masked("x --hf-Token abc --lr 1") == "x --hf-Token *** --lr 1 ");
    CHECK(masked("x --api_key --verbose abc") == "x --api_key --verbose abc ");
    CHECK(masked("env WANDB_API_KEY=123 AWS_SECRET_ACCESS_KEY=4 x") ==
          "env WANDB_API_KEY=*** AWS_SECRET_ACCESS_KEY=*** x ");
    CHECK(masked("x -password p") == "x -password *** ");
    CHECK(masked("git clone https://me:pw@host/x") == "git clone https://me:***@host/x ");
    CHECK(masked("x https://host:80/a@b") == "x https://host:80/a@b ");
    CHECK(masked("x token abc") == "x token abc ");  // a word, no option
    CHECK(masked("x --passphrase= y") == "x --passphrase=*** y ");
    CHECK(masked("a b c", 3) == "a b");
    CHECK(masked("") == " ");
}

TEST_CASE("identity of this process") {
    trace::ProcessIdentity identity;
    fill_identity(identity);
    CHECK(identity.pid == static_cast<uint32_t>(getpid()));
    CHECK(identity.parent_pid == static_cast<uint32_t>(getppid()));
    CHECK(identity.start_time > 0);
    struct stat facts {};
    REQUIRE(stat("/proc/self/ns/pid", &facts) == 0);
    CHECK(identity.pid_namespace == facts.st_ino);
    CHECK(std::strlen(identity.boot_id) == 36);
    CHECK(identity.open_realtime > 1'600'000'000'000'000'000);
    CHECK(identity.open_monotonic > 0);
    char host[65] = {};
    gethostname(host, 64);
    CHECK(std::string(identity.host) == std::string(host).substr(0, 63));
    trace::ProcessIdentity again;
    fill_identity(again);
    CHECK(again.start_time == identity.start_time);
}
