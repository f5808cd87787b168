// SPDX-License-Identifier: Apache-2.0
#include "analyzer/cli/framework_detail.h"

#include <map>

#include "tests/support/catch.h"

using namespace vramtrace::cli;

TEST_CASE("what is set already stays, and the rest is set") {
    const std::map<std::string, std::string> environment = {{"XLA_PYTHON_CLIENT_PREALLOCATE", "true"}};
    const auto chosen = choose_framework_detail([&](const char* name) -> const char* {
        const auto found = environment.find(name);
        return found != environment.end() ? found->second.c_str() : nullptr;
    });
    REQUIRE(chosen.size() == 2);
    CHECK(chosen[0].name == "XLA_PYTHON_CLIENT_ALLOCATOR");
    CHECK(chosen[0].value == "cuda_async");
    CHECK_FALSE(chosen[0].by_user);
    CHECK(chosen[1].value == "true");
    CHECK(chosen[1].by_user);
    CHECK(detail_line(chosen[0]) == "for JAX: XLA_PYTHON_CLIENT_ALLOCATOR=cuda_async, which changes how it allocates");
    CHECK(detail_line(chosen[1]) == "for JAX: XLA_PYTHON_CLIENT_PREALLOCATE=true, as you have set it");
}

TEST_CASE("the help has every framework with its variables") {
    const std::string help = framework_detail_help();
    for (const FrameworkDetail& detail : framework_details()) {
        CHECK(help.find(std::string("  ") + detail.framework + ": ") != std::string::npos);
        for (const auto& variable : detail.variables)
            CHECK(help.find(std::string(variable.name) + "=" + variable.value) != std::string::npos);
    }
}
