// SPDX-License-Identifier: Apache-2.0
#include "analyzer/cli/surroundings.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <poll.h>
#include <sys/statvfs.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <sstream>

#include "analyzer/print/units.h"

namespace vramtrace::cli {

namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr size_t kMostText = 1U << 20;

// Runs `body` in a child whose stdout and stderr come back as text.
ChildOutput in_child(const std::function<void()>& body, unsigned seconds) {
    ChildOutput output;
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) return output;
    const pid_t pid = fork();
    if (pid == 0) {
        dup2(ends[1], STDOUT_FILENO);
        dup2(ends[1], STDERR_FILENO);
        body();
        _exit(127);
    }
    close(ends[1]);
    const auto deadline = steady_clock::now() + std::chrono::seconds(seconds);
    output.finished = pid > 0;
    std::vector<char> buffer(4096);
    for (;;) {
        const auto left = std::chrono::duration_cast<milliseconds>(deadline - steady_clock::now()).count();
        pollfd waiting = {ends[0], POLLIN, 0};
        const int ready = left > 0 ? poll(&waiting, 1, static_cast<int>(left)) : 0;
        if (ready < 0 && errno == EINTR) continue;
        if (ready <= 0) {
            output.finished = false;
            if (pid > 0) kill(pid, SIGKILL);
            break;
        }
        const ssize_t got = read(ends[0], buffer.data(), buffer.size());
        if (got <= 0) break;
        if (output.text.size() < kMostText) output.text.append(buffer.data(), static_cast<size_t>(got));
    }
    close(ends[0]);
    while (pid > 0 && waitpid(pid, &output.status, 0) < 0 && errno == EINTR) {
    }
    return output;
}

std::string path_of(void* library) {
    link_map* map = nullptr;
    return dlinfo(library, RTLD_DI_LINKMAP, &map) == 0 && map->l_name != nullptr ? map->l_name : "";
}

template <typename Function>
Function symbol(void* library, const char* name) {
    return reinterpret_cast<Function>(dlsym(library, name));
}

// In the child: speaks in lines "KEY VALUE" that look_for_cuda() reads.
void ask_cuda() {
    const auto say = [](const char* key, const std::string& value) {
        dprintf(STDOUT_FILENO, "%s %s\n", key, value.c_str());
    };
    void* driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    if (driver == nullptr) {
        say("why", dlerror());
    } else {
        say("driver", path_of(driver));
        if (dlsym(driver, "vramtrace_sim_live") != nullptr) say("simulated", "1");
        int version = 0;
        const auto get_version = symbol<int (*)(int*)>(driver, "cuDriverGetVersion");
        if (get_version != nullptr && get_version(&version) == 0) say("version", std::to_string(version));
        const auto init = symbol<int (*)(unsigned)>(driver, "cuInit");
        const int started = init != nullptr ? init(0) : -1;
        if (started == 0) {
            say("started", "1");
            int count = 0;
            const auto get_count = symbol<int (*)(int*)>(driver, "cuDeviceGetCount");
            const auto get_device = symbol<int (*)(int*, int)>(driver, "cuDeviceGet");
            const auto get_name = symbol<int (*)(char*, int, int)>(driver, "cuDeviceGetName");
            const auto get_total = symbol<int (*)(size_t*, int)>(driver, "cuDeviceTotalMem_v2");
            if (get_count == nullptr || get_count(&count) != 0) count = 0;
            for (int i = 0; i < count; ++i) {
                int device = 0;
                char name[256] = "";
                size_t total = 0;
                if (get_device == nullptr || get_device(&device, i) != 0) continue;
                if (get_name != nullptr) get_name(name, sizeof name - 1, device);
                if (get_total != nullptr) get_total(&total, device);
                say("device", std::to_string(i) + " " + std::to_string(total) + " " + name);
            }
        } else {
            say("why", "cuInit answers error " + std::to_string(started) + (started == 100 ? " (no device)" : ""));
        }
    }
    for (const char* name : {"libcudart.so.13", "libcudart.so.12", "libcudart.so.11.0"}) {
        if (void* runtime = dlopen(name, RTLD_LAZY | RTLD_LOCAL); runtime != nullptr) say("runtime", path_of(runtime));
    }
    _exit(0);
}

}  // namespace

bool ChildOutput::succeeded() const {
    return finished && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

ChildOutput run_child(const std::vector<std::string>& command, const std::vector<std::string>& environment,
                      unsigned seconds) {
    return in_child(
        [&] {
            for (const std::string& entry : environment) putenv(const_cast<char*>(entry.c_str()));
            std::vector<char*> arguments;
            for (const std::string& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
            arguments.push_back(nullptr);
            execv(arguments[0], arguments.data());
            dprintf(STDERR_FILENO, "%s: %s\n", arguments[0], std::strerror(errno));
        },
        seconds);
}

CudaFound look_for_cuda(unsigned seconds) {
    const ChildOutput answer = in_child(ask_cuda, seconds);
    CudaFound found;
    std::istringstream lines(answer.text);
    for (std::string line; std::getline(lines, line);) {
        const size_t blank = line.find(' ');
        const std::string key = line.substr(0, blank);
        const std::string value = blank == std::string::npos ? "" : line.substr(blank + 1);
        if (key == "why") found.why = value;
        if (key == "driver") found.driver_path = value;
        if (key == "simulated") found.simulated = true;
        if (key == "started") found.started = true;
        if (key == "version") found.driver_version = std::atoi(value.c_str());
        if (key == "runtime") found.runtimes.push_back(value);
        if (key == "device") {
            CudaDevice device;
            std::istringstream parts(value);
            parts >> device.ordinal >> device.total_bytes;
            std::getline(parts >> std::ws, device.name);
            found.devices.push_back(device);
        }
    }
    if (!answer.finished) found.why = "asking it took more than " + std::to_string(seconds) + " s and was given up";
    if (answer.finished && WIFSIGNALED(answer.status))
        found.why = "asking it ended with signal " + std::to_string(WTERMSIG(answer.status));
    return found;
}

DirectoryFound look_at_directory(const std::string& directory) {
    DirectoryFound found;
    std::string probe = directory + "/.vramtrace-doctor-XXXXXX";
    const int descriptor = mkstemp(probe.data());
    if (descriptor >= 0) {
        found.writable = true;
        close(descriptor);
        unlink(probe.c_str());
    }
    struct statfs system {};
    if (statfs(directory.c_str(), &system) != 0) return found;
    found.free_bytes = static_cast<uint64_t>(system.f_bavail) * static_cast<uint64_t>(system.f_bsize);
    // Magic numbers as statfs(2) lists them; those of network file systems make `local` false.
    static const std::map<uint64_t, std::pair<const char*, bool>> kKnown = {
        {0xef53, {"ext4", true}},      {0x58465342, {"xfs", true}},       {0x9123683e, {"btrfs", true}},
        {0x01021994, {"tmpfs", true}}, {0x794c7630, {"overlayfs", true}}, {0x2fc12fc1, {"zfs", true}},
        {0x6969, {"nfs", false}},      {0x0bd00bd0, {"lustre", false}},   {0xff534d42, {"cifs", false}},
        {0xfe534d42, {"smb2", false}}, {0x47504653, {"gpfs", false}},     {0x65735546, {"fuse", false}},
        {0x01021997, {"9p", false}},   {0x00c36400, {"ceph", false}},     {0x19830326, {"beegfs", false}}};
    const uint64_t magic = static_cast<uint32_t>(system.f_type);
    const auto known = kKnown.find(magic);
    found.file_system = known != kKnown.end() ? known->second.first : print::hex(magic);
    found.local = known == kKnown.end() || known->second.second;
    return found;
}

}  // namespace vramtrace::cli
