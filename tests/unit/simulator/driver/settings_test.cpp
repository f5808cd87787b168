// SPDX-License-Identifier: Apache-2.0
// Settings are read once in a process: each of these tests runs a hidden one in a child with its own environment.
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "simulated_machine.h"

namespace {

// A hidden test says that it ran: a name that matches nothing must not pass.
struct Ran {
    ~Ran() {
        if (const char* descriptor = std::getenv("VRAMTRACE_TEST_RAN")) {
            const ssize_t written = write(std::atoi(descriptor), "r", 1);
            CHECK(written == 1);
        }
    }
};

int run_in_child(const char* test, const std::vector<std::pair<const char*, std::string>>& environment) {
    int pipe_ends[2];
    REQUIRE(pipe(pipe_ends) == 0);
    const pid_t child = fork();
    REQUIRE(child >= 0);
    if (child == 0) {
        close(pipe_ends[0]);
        setenv("VRAMTRACE_TEST_RAN", std::to_string(pipe_ends[1]).c_str(), 1);
        for (const auto& [name, value] : environment) {
            setenv(name, value.c_str(), 1);
        }
        execl("/proc/self/exe", "child", test, static_cast<char*>(nullptr));
        _exit(127);
    }
    close(pipe_ends[1]);
    int status = 0;
    REQUIRE(waitpid(child, &status, 0) == child);
    char ran = 0;
    const ssize_t got = ::read(pipe_ends[0], &ran, 1);
    close(pipe_ends[0]);
    return got != 1 ? -2 : WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

std::string read(const std::filesystem::path& path) {
    std::ifstream file(path);
    std::ostringstream text;
    text << file.rdbuf();
    return text.str();
}

CUresult last_answer = CUDA_SUCCESS;

}  // namespace

TEST_CASE("child: reads its environment", "[.]") {
    const Ran ran;
    const PrimaryContext context(2);
    int count = 0;
    CHECK(cuDeviceGetCount(&count) == CUDA_SUCCESS);
    CHECK(count == 3);
    size_t bytes = 0;
    CHECK(cuDeviceTotalMem(&bytes, 2) == CUDA_SUCCESS);
    CHECK(bytes == 64 * kMiB);
    char name[64];
    CHECK(cuDeviceGetName(name, sizeof name, 2) == CUDA_SUCCESS);
    CHECK(name == std::string("Tiny"));
    size_t free = 0;
    CHECK(cuMemGetInfo(&free, &bytes) == CUDA_SUCCESS);
    CHECK(free == 56 * kMiB);
    CUdeviceptr memory = 0;
    CHECK(cuMemAlloc(&memory, 1) == CUDA_SUCCESS);
    CHECK(cuMemAlloc(&memory, 1) == CUDA_ERROR_LAUNCH_FAILED);
    CHECK(cuMemAlloc(&memory, 1) == CUDA_SUCCESS);
    CHECK(cuMemFree(memory) == CUDA_ERROR_INVALID_VALUE);
    CHECK(cuMemFree(memory) == CUDA_SUCCESS);
}

TEST_CASE("size, name and failures come from the environment") {
    CHECK(run_in_child("child: reads its environment",
                       {{"VRAMTRACE_SIM_DEVICES", "3"},
                        {"VRAMTRACE_SIM_MEMORY", "64MiB"},
                        {"VRAMTRACE_SIM_CONTEXT_MIB", "8"},
                        {"VRAMTRACE_SIM_NAME", "Tiny"},
                        {"VRAMTRACE_SIM_FAIL", "cuMemAlloc_v2:every=2,code=719;cuMemFree_v2:count=1,code=1"}}) == 0);
}

TEST_CASE("child: finished at synchronisation", "[.]") {
    const Ran ran;
    const PrimaryContext context;
    CUdeviceptr memory = 0;
    CUdeviceptr next = 0;
    REQUIRE(cuMemAllocAsync(&memory, 20 * kMiB, nullptr) == CUDA_SUCCESS);
    REQUIRE(cuMemFreeAsync(memory, nullptr) == CUDA_SUCCESS);
    CHECK(live_bytes(VRAMTRACE_SIM_STREAM_ORDERED) == 0);
    vramtrace_sim_device_use use{};
    REQUIRE(vramtrace_sim_get_device_use(0, &use) == 0);
    CHECK(use.pending_bytes == 20 * kMiB);
    REQUIRE(cuMemAllocAsync(&next, 20 * kMiB, nullptr) == CUDA_SUCCESS);
    CHECK(next != memory);
    CHECK(cuStreamQuery(nullptr) == CUDA_ERROR_NOT_READY);
    CHECK(cuStreamQuery(nullptr) == CUDA_SUCCESS);
    REQUIRE(vramtrace_sim_get_device_use(0, &use) == 0);
    CHECK(use.pending_bytes == 0);
    CUevent event = nullptr;
    REQUIRE(cuEventCreate(&event, CU_EVENT_DEFAULT) == CUDA_SUCCESS);
    REQUIRE(cuMemFreeAsync(next, nullptr) == CUDA_SUCCESS);
    REQUIRE(cuEventRecord(event, nullptr) == CUDA_SUCCESS);
    CHECK(cuEventQuery(event) == CUDA_ERROR_NOT_READY);
    CHECK(cuEventSynchronize(event) == CUDA_SUCCESS);
    CHECK(cuEventQuery(event) == CUDA_SUCCESS);
    REQUIRE(vramtrace_sim_get_device_use(0, &use) == 0);
    CHECK(use.pending_bytes == 0);
    CHECK(use.pool_reserved_bytes == 0);
}

TEST_CASE("with VRAMTRACE_SIM_ASYNC work is finished at a synchronisation or the second query") {
    CHECK(run_in_child("child: finished at synchronisation", {{"VRAMTRACE_SIM_ASYNC", "1"}}) == 0);
}

TEST_CASE("child: leaks and exits", "[.]") {
    const Ran ran;
    // Registered before the driver's handler, so it runs after it.
    std::atexit([] {
        CUdeviceptr memory = 0;
        vramtrace_sim_set_tag(0);
        last_answer = cuMemAlloc(&memory, 1);
        if (const char* path = std::getenv("VRAMTRACE_TEST_ANSWER")) {
            std::ofstream(path) << last_answer;
        }
    });
    REQUIRE(cuInit(0) == CUDA_SUCCESS);
    CUcontext context = nullptr;
    REQUIRE(cuDevicePrimaryCtxRetain(&context, 0) == CUDA_SUCCESS);
    REQUIRE(cuCtxSetCurrent(context) == CUDA_SUCCESS);
    CUdeviceptr memory = 0;
    vramtrace_sim_set_tag(5);
    REQUIRE(cuMemAlloc(&memory, 12345) == CUDA_SUCCESS);
}

TEST_CASE("the ledger is written at exit, and the driver may be gone by then") {
    const auto folder = std::filesystem::temp_directory_path() / ("vramtrace-sim-" + std::to_string(getpid()));
    std::filesystem::create_directory(folder);
    const bool gone = GENERATE(false, true);
    CHECK(run_in_child("child: leaks and exits", {{"VRAMTRACE_SIM_LEDGER", folder / "ledger.json"},
                                                  {"VRAMTRACE_TEST_ANSWER", folder / "answer"},
                                                  {"VRAMTRACE_SIM_DEINIT", gone ? "1" : "0"}}) == 0);
    CHECK(read(folder / "answer") == std::to_string(gone ? CUDA_ERROR_DEINITIALIZED : CUDA_SUCCESS));
    const std::string ledger = read(folder / "ledger.json");
    CHECK_THAT(ledger, ContainsSubstring("\"kind\": \"device\", \"api\": \"cuMemAlloc_v2\", \"device\": 0"));
    CHECK_THAT(ledger, ContainsSubstring("\"local_bytes\": 12345"));
    CHECK_THAT(ledger, ContainsSubstring("{\"tag\": 5, \"bytes\": 12345}"));
    std::filesystem::remove_all(folder);
}

TEST_CASE("a forked child cannot use its parent's driver, and does not hang") {
    const PrimaryContext context;
    const pid_t child = fork();
    REQUIRE(child >= 0);
    if (child == 0) {
        CUdeviceptr memory = 0;
        const bool refused = cuMemAlloc(&memory, 1) == CUDA_ERROR_NOT_INITIALIZED && cuInit(0) != CUDA_SUCCESS;
        _exit(refused && vramtrace_sim_live(nullptr, 0) > 0 ? 0 : 1);
    }
    int status = 0;
    REQUIRE(waitpid(child, &status, 0) == child);
    CHECK(status == 0);
}
