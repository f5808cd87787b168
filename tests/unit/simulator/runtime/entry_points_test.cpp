// SPDX-License-Identifier: Apache-2.0
// How the runtime reaches its driver, and what it answers when it cannot.
#include "tests/support/catch.h"
#include "tests/unit/simulator/runtime/recording_driver.h"

#include <cuda_runtime_api.h>

#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>
#include <climits>
#include <cstdlib>
#include <fstream>
#include <regex>
#include <set>
#include <sstream>

namespace {

/// Runs one hidden test case in a process of its own, where the runtime has not met its driver yet.
int run_alone(const std::string& tag, const char* variable, const char* value) {
    char path[PATH_MAX] = {};
    REQUIRE(readlink("/proc/self/exe", path, sizeof path - 1) > 0);
    const pid_t child = fork();
    if (child == 0) {
        setenv(variable, value, 1);
        execl(path, path, tag.c_str(), static_cast<char*>(nullptr));
        _exit(127);
    }
    int status = 0;
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

}  // namespace

TEST_CASE("the first call asks the recorded 440 questions in order, without a status") {
    cudaFree(nullptr);
    std::ifstream file(RECORDED_LOOKUPS);
    REQUIRE(file);
    const auto& asked = recording_driver::questions();
    REQUIRE(asked.size() >= 440);
    const std::regex row(R"((\S*) ver=(\d+) fl=(\d) -> (\S+))");
    std::string line;
    size_t index = 0;
    while (std::getline(file, line)) {
        std::smatch parts;
        REQUIRE(std::regex_match(line, parts, row));
        INFO("line " << index + 1 << ": " << line);
        CHECK(asked[index].name == parts[1].str());
        CHECK(asked[index].version == std::stoi(parts[2].str()));
        CHECK(asked[index].flags == std::stoull(parts[3].str()));
        CHECK_FALSE(asked[index].wanted_status);
        ++index;
    }
    CHECK(index == 440);
}

TEST_CASE("a later call asks nothing more") {
    cudaFree(nullptr);
    const size_t before = recording_driver::questions().size();
    void* pointer = nullptr;
    CHECK(cudaMalloc(&pointer, 100) == cudaSuccess);
    CHECK(recording_driver::questions().size() == before);
}

TEST_CASE("driver entry points are asked for when the program asks, with its version and a status") {
    cudaFree(nullptr);
    const size_t before = recording_driver::questions().size();
    void* function = nullptr;
    cudaDriverEntryPointQueryResult answer;
    CHECK(cudaGetDriverEntryPointByVersion("cuMemCreate", &function, 10020, 0, &answer) == cudaSuccess);
    const auto& asked = recording_driver::questions();
    REQUIRE(asked.size() == before + 1);
    CHECK(asked.back().name == "cuMemCreate");
    CHECK(asked.back().version == 10020);
    CHECK(asked.back().wanted_status);
}

TEST_CASE("every function of the public header and every compiler entry is exported under the version node") {
    std::ifstream header(std::string(CUDA_INCLUDE) + "/cuda_runtime_api.h");
    REQUIRE(header);
    std::stringstream text;
    text << header.rdbuf();
    const std::string content = text.str();
    const std::regex declaration(R"(CUDARTAPI\s+(cuda[A-Za-z0-9_]+)\s*\()");
    std::set<std::string> names = {"__cudaRegisterFatBinary",
                                   "__cudaRegisterFatBinaryEnd",
                                   "__cudaRegisterFunction",
                                   "__cudaUnregisterFatBinary",
                                   "__cudaRegisterVar",
                                   "__cudaRegisterManagedVar",
                                   "__cudaPushCallConfiguration",
                                   "__cudaPopCallConfiguration",
                                   "__cudaInitModule",
                                   "__cudaGetKernel",
                                   "__cudaLaunchKernel",
                                   "__cudaLaunchKernel_ptsz"};
    for (std::sregex_iterator it(content.begin(), content.end(), declaration), end; it != end; ++it) {
        names.insert((*it)[1].str());
    }
    const std::regex renamed(R"(define (cuda\w+)\s+__CUDART_API_PT(D|S)(S|Z)\()");
    std::set<std::string> per_thread;
    for (std::sregex_iterator it(content.begin(), content.end(), renamed), end; it != end; ++it) {
        per_thread.insert((*it)[1].str() + ((*it)[2].str() == "D" ? "_ptds" : "_ptsz"));
    }
    CHECK(names.size() > 300);
    CHECK(per_thread.size() > 50);
    names.merge(per_thread);
    void* library = dlopen(CUDART_13, RTLD_NOW | RTLD_LOCAL);
    REQUIRE(library != nullptr);
    for (const std::string& name : names) {
        INFO(name);
        CHECK(dlvsym(library, name.c_str(), "libcudart.so.13") != nullptr);
    }
    dlclose(library);
}

TEST_CASE("a driver older than the runtime is error 35 on every call") {
    CHECK(run_alone("[insufficient-driver]", "RECORDING_DRIVER_VERSION", "12090") == 0);
}

TEST_CASE("a driver that knows no function is error 35 on every call") {
    CHECK(run_alone("[insufficient-driver]", "RECORDING_DRIVER_KNOWS_NOTHING", "1") == 0);
}

TEST_CASE("insufficient driver, alone", "[.][insufficient-driver]") {
    void* pointer = reinterpret_cast<void*>(1);
    int count = 7;
    for (int round = 0; round < 2; ++round) {
        CHECK(cudaMalloc(&pointer, 10) == cudaErrorInsufficientDriver);
        CHECK(cudaGetDeviceCount(&count) == cudaErrorInsufficientDriver);
        CHECK(cudaSetDevice(0) == cudaErrorInsufficientDriver);
        CHECK(cudaGraphDebugDotPrint(nullptr, "x", 0) == cudaErrorInsufficientDriver);
    }
    CHECK(recording_driver::calls().empty());
    CHECK(cudaGetLastError() == cudaErrorInsufficientDriver);
    CHECK(cudaGetLastError() == cudaSuccess);
}
