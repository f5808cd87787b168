// SPDX-License-Identifier: Apache-2.0
#include "shim/record/framework_facts.h"

#include <string>

#include "shim/settings.h"
#include "tests/support/catch.h"

using namespace vramtrace::shim;

namespace {

std::string version_in(const std::string& source, size_t room = 64) {
    std::string value(room, '?');
    value.resize(python_assignment(source.data(), source.size(), "__version__", value.data(), room));
    return value;
}

std::string allocators(std::vector<const char*> environment) {
    environment.push_back(nullptr);
    Settings settings{};
    parse_settings(environment.data(), settings);
    return {settings.allocators, settings.allocator_bytes};
}

}  // namespace

TEST_CASE("the version in Python source") {
    CHECK(version_in("from typing import Optional\n\n__all__ = ['__version__', 'debug']\n__version__ = '2.14.1+cu130'\n"
                     "debug = False\n") == "2.14.1+cu130");
    CHECK(version_in("__version__=\"1.2\"") == "1.2");
    CHECK(version_in("__version__   =   '1'  # comment") == "1");
    CHECK(version_in("__version__x = '1'\n__version__ = '2'\n") == "2");
    CHECK(version_in("__version__ = '12345'", 5) == "12345");
}

TEST_CASE("source without a version, cut, or not to be trusted") {
    for (const char* source :
         {"", "\n", "__version__", "__version__ ", "__version__ =", "__version__ = ", "__version__ = '",
          "__version__ = 'x", "__version__ = 'x\n'", "__version__ = TorchVersion(x)", " __version__ = '1'",
          "x__version__ = '1'", "__version__ == '1'", "#__version__ = '1'"})
        CHECK(version_in(source).empty());
    CHECK(version_in("__version__ = '123456'", 5).empty());
    CHECK(version_in(std::string("__version__ = '1\0", 16)).empty());
}

TEST_CASE("variables that say how a framework allocates") {
    CHECK(allocators({"PATH=/bin", "PYTORCH_ALLOC_CONF=expandable_segments:True", "XPYTORCH_ALLOC_CONF=no",
                      "PYTORCH_ALLOC_CONFIG=no", "TF_GPU_ALLOCATOR=", "HOME=/"}) ==
          std::string("PYTORCH_ALLOC_CONF=expandable_segments:True\0TF_GPU_ALLOCATOR=\0", 62));
    CHECK(allocators({"XLA_PYTHON_CLIENT_MEM_FRACTION=.5"}) == std::string("XLA_PYTHON_CLIENT_MEM_FRACTION=.5\0", 34));
    CHECK(allocators({}).empty());
    const std::string endless = "PYTORCH_ALLOC_CONF=" + std::string(5000, 'x');
    CHECK(allocators({endless.c_str(), "TF_GPU_ALLOCATOR=a"}) == std::string("TF_GPU_ALLOCATOR=a\0", 19));
}
