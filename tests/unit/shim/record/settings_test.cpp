// SPDX-License-Identifier: Apache-2.0
#include "shim/settings.h"

#include <string>
#include <thread>

#include "tests/unit/shim/record/child_process.h"

using namespace vramtrace::shim;
using vramtrace::test::in_child;

namespace {

Settings parsed(std::vector<const char*> environment) {
    environment.push_back(nullptr);
    Settings settings{};
    parse_settings(environment.data(), settings);
    return settings;
}

}  // namespace

TEST_CASE("defaults") {
    const Settings settings = parsed({});
    REQUIRE(std::string(settings.directory.c_str()) == "vramtrace-trace");
    REQUIRE(settings.stack_depth == 128);
    REQUIRE(settings.buffer_limit == 512ULL << 20);
    REQUIRE(settings.disk_limit == 4ULL << 30);
    REQUIRE(settings.disk_floor == 256ULL << 20);
    REQUIRE(settings.free_stacks);
    REQUIRE_FALSE(settings.quiet);
    REQUIRE_FALSE(settings.disable);
    REQUIRE_FALSE(settings.strip_deepbind);
    REQUIRE(settings.start);
    REQUIRE(settings.min_size == 0);
    REQUIRE(settings.level == setting_type::Level::All);
    REQUIRE(settings.nvtx[0] == '\0');
    REQUIRE(settings.given_bytes == 0);
    REQUIRE(settings.refused[0] == '\0');
    REQUIRE(settings.rank[0] == '\0');
}

TEST_CASE("sizes, numbers, switches") {
    const struct {
        const char* text;
        uint64_t bytes;  // 0: refused
    } sizes[] = {{"1000000", 1'000'000},
                 {"512k", 512 << 10},
                 {"3M", 3 << 20},
                 {"3MiB", 3 << 20},
                 {"3MB", 3 << 20},
                 {"2G", 2ULL << 30},
                 {"", 0},
                 {"M", 0},
                 {"-1M", 0},
                 {"1MM", 0},
                 {"3 M", 0},
                 {"0x10M", 0},
                 {"99999999999T", 0},
                 {"18446744073709551616", 0},
                 {"1", 0} /* below the least */};
    for (const auto& size : sizes) {
        const std::string variable = std::string("VRAMTRACE_BUFFER_LIMIT=") + size.text;
        const Settings settings = parsed({variable.c_str()});
        INFO(variable);
        CHECK(settings.buffer_limit == (size.bytes == 0 ? 512ULL << 20 : size.bytes));
        CHECK((settings.refused[0] != '\0') == (size.bytes == 0));
    }
    REQUIRE(parsed({"VRAMTRACE_STACK_DEPTH=1024"}).stack_depth == 1024);
    for (const char* bad : {"VRAMTRACE_STACK_DEPTH=0", "VRAMTRACE_STACK_DEPTH=1025", "VRAMTRACE_STACK_DEPTH=1k"}) {
        CHECK(parsed({bad}).stack_depth == 128);
        CHECK(std::string(parsed({bad}).refused) == bad);
    }
    for (const char* yes : {"1", "yes", "on", "true"}) {
        CHECK(parsed({(std::string("VRAMTRACE_QUIET=") + yes).c_str()}).quiet);
    }
    for (const char* no : {"0", "no", "off", "false", ""}) {
        CHECK_FALSE(parsed({(std::string("VRAMTRACE_FREE_STACKS=") + no).c_str()}).free_stacks);
    }
    REQUIRE(parsed({"VRAMTRACE_QUIET=perhaps"}).refused[0] != '\0');
}

TEST_CASE("levels, and the tool that NVTX ranges go to") {
    REQUIRE(parsed({"VRAMTRACE_LEVEL=driver"}).level == setting_type::Level::Driver);
    REQUIRE(parsed({"VRAMTRACE_LEVEL=all"}).level == setting_type::Level::All);
    const Settings refused = parsed({"VRAMTRACE_LEVEL=both"});
    REQUIRE(refused.level == setting_type::Level::All);
    REQUIRE(std::string(refused.refused) == "VRAMTRACE_LEVEL=both");
    const Settings other = parsed({"NVTX_INJECTION64_PATH=/opt/tool.so"});
    REQUIRE(std::string(other.nvtx) == "/opt/tool.so");
    REQUIRE(other.given_bytes == 0);
}

TEST_CASE("texts, ranks, what is remembered") {
    const Settings settings =
        parsed({"PATH=/bin", "RANK=5", "VRAMTRACE_DIR=/t/%n", "HOME=/root", "SLURM_PROCID=2", "VRAMTRACE_UNKNOWN=1",
                "PMI_RANK=7", "VRAMTRACE_COLLECTOR=0", "XVRAMTRACE_QUIET=1", "VRAMTRACE_DIRX=/wrong"});
    REQUIRE(std::string(settings.directory.c_str()) == "/t/%n");
    REQUIRE(std::string(settings.rank) == "2");
    REQUIRE(std::string(settings.home) == "/root");
    REQUIRE(std::string(settings.collector.c_str()) == "0");
    REQUIRE_FALSE(settings.quiet);
    REQUIRE(
        std::string(settings.given, settings.given_bytes) ==
        std::string("VRAMTRACE_DIR=/t/%n\0VRAMTRACE_UNKNOWN=1\0VRAMTRACE_COLLECTOR=0\0VRAMTRACE_DIRX=/wrong\0", 84));
    const std::string endless = "VRAMTRACE_DIR=" + std::string(5000, 'x');
    REQUIRE(std::string(parsed({endless.c_str()}).directory.c_str()) == "vramtrace-trace");
    REQUIRE(std::string(parsed({endless.c_str()}).refused).size() == sizeof(Settings::refused) - 1);
    REQUIRE(std::string(parsed({"VRAMTRACE_DIR="}).directory.c_str()) == "vramtrace-trace");
}

TEST_CASE("the process's own environment, while another thread changes it") {
    for (unsigned round = 0; round < 20; ++round) {
        const auto ended = in_child([&] {
            setenv("VRAMTRACE_STACK_DEPTH", "77", 1);
            std::atomic<bool> stop{false};
            std::thread other([&] {
                for (unsigned i = 0; !stop; ++i) {
                    setenv(("SOME_VARIABLE_" + std::to_string(i % 5000)).c_str(), std::string(i % 300, 'v').c_str(), 1);
                }
            });
            usleep(1000 + round * 300);
            const Settings* mine = settings();
            stop = true;
            other.join();
            if (mine == nullptr || mine != settings()) return 1;
            return 0;
        });
        REQUIRE(ended.exit_code == 0);
    }
    REQUIRE(in_child([] {
                setenv("VRAMTRACE_STACK_DEPTH", "77", 1);
                setenv("VRAMTRACE_DIR", std::string(900, 'd').c_str(), 1);
                return settings()->stack_depth == 77 && std::string(settings()->directory.c_str()).size() == 900 ? 0
                                                                                                                 : 1;
            }).exit_code == 0);
    REQUIRE(in_child([] {
                clearenv();
                return settings()->stack_depth == 128 ? 0 : 1;
            }).exit_code == 0);
}
