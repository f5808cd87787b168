// SPDX-License-Identifier: Apache-2.0
// A job on the imitated PyTorch: torch_job SITUATION FOLDER. Ends with 0 if libc10's profiler was told what it has to be.
#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>

#include "tests/frameworks/imitation/c10_cuda.h"

namespace {

void expect(bool holds, const char* what) {
    if (holds) return;
    std::fprintf(stderr, "not so: %s\n", what);
    std::_Exit(1);
}

std::string folder;

void* open(const std::string& path) {
    void* handle = dlopen((folder + path).c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle == nullptr) std::fprintf(stderr, "%s\n", dlerror());
    expect(handle != nullptr, "the library loads");
    return handle;
}

struct Torch {
    void* handle = open("/torch/lib/libc10_cuda.so");
    Allocator allocator = reinterpret_cast<decltype(&imitation_allocator)>(dlsym(handle, "imitation_allocator"))();
    decltype(&imitation_report_count) count = find(&imitation_report_count, "imitation_report_count");
    decltype(&imitation_report) report = find(&imitation_report, "imitation_report");
    decltype(&imitation_hand_on) hand_on = find(&imitation_hand_on, "imitation_hand_on");

    template <typename Function>
    Function find(Function, const char* name) {
        return reinterpret_cast<Function>(dlsym(handle, name));  // in its dependency, libc10.so
    }
};

void calls() {
    Torch torch;
    void* blocks[3];
    for (const Reported how : {kUsage3, kUsageSigned, kUsage}) blocks[how] = torch.allocator.alloc(how, 512 << how);
    for (const Reported how : {kUsage3, kUsageSigned, kUsage}) torch.allocator.free(how, blocks[how], 512 << how);
    expect(torch.allocator.alloc(kUsage, 3 << 20) == nullptr, "no room");
    expect(torch.allocator.alloc(kUsageSigned, 4 << 20) == nullptr, "no room");
    int odd = 0;
    torch.allocator.report({kUsage, &odd, 64, 64, 64, {0, -1}});  // a CPU tensor
    torch.allocator.report({kUsage, &odd, 64, 64, 64, {20, 0}});  // somebody's own device
    torch.allocator.report({kUsage, &odd, 64, 64, 64, {1, -1}});  // CUDA, but which?
    torch.allocator.report({kOutOfMemory, nullptr, 9, 8, 7, {0, 0}});
    torch.allocator.report({kUsage, blocks[0], 1024, 1024, 1 << 20, {1, 5}});
    expect(torch.count() == 13, "the profiler was told of everything, once");
    for (const Reported how : {kUsage3, kUsageSigned, kUsage}) {
        const Report came = torch.report(how), went = torch.report(3 + how);
        expect(came.which == how && went.which == how, "under the same name");
        expect(came.pointer == blocks[how] && went.pointer == blocks[how], "the same block");
        expect(came.bytes == 512 << how && went.bytes == -(512 << how), "the same bytes");
        expect(came.device.type == 1 && came.device.index == 0, "the same device");
        expect(how == kUsage3 || came.reserved == 2 << 20, "the same totals");
    }
    expect(torch.report(2).allocated == 512 + 1024 + 2048 && torch.report(5).allocated == 0, "totals in order");
    expect(torch.report(6).which == kOutOfMemory && torch.report(6).bytes == 3 << 20, "the first out-of-memory");
    expect(torch.report(7).which == kOutOfMemorySigned && torch.report(7).reserved == 2 << 20, "the second");
    expect(torch.report(12).device.index == 5, "device 5");
}

void handed_on() {
    Torch torch;
    torch.hand_on();
    void* block = torch.allocator.alloc(kUsage, 4096);
    torch.allocator.free(kUsage, block, 4096);
    expect(torch.count() == 4, "each report came, and was handed on");
}

void forked() {
    Torch torch;
    void* block = torch.allocator.alloc(kUsage, 4096);
    const pid_t child = fork();
    if (child == 0) {
        torch.allocator.free(kUsage, block, 4096);
        expect(torch.allocator.alloc(kUsage, 1 << 10) != nullptr, "room in the segment");
        _exit(torch.count() == 3 ? 0 : 1);
    }
    int status = 0;
    expect(waitpid(child, &status, 0) == child && status == 0, "the child's profiler was told");
    torch.allocator.free(kUsage, block, 4096);
}

void unloaded() {
    expect(dlopen("libcudart.so.13", RTLD_NOW | RTLD_LOCAL) != nullptr, "the runtime stays");
    for (int load = 0; load < 5; ++load) {
        Torch torch;
        void* block = torch.allocator.alloc(kUsage, 512 << load);
        torch.allocator.free(kUsage, block, 512 << load);
        expect(torch.count() == 2, "the profiler of this load was told");
        expect(dlclose(torch.handle) == 0, "it can be unloaded");
        const bool gone = dlopen((folder + "/torch/lib/libc10.so").c_str(), RTLD_NOW | RTLD_NOLOAD) == nullptr;
        expect(gone, "it is unloaded");
    }
}

// The allocator's first report ever while another thread is in a constructor, with the loader's lock, and waits for the
// allocator's: a hook that asked the loader anything would wait for ever.
Torch* shared = nullptr;
std::atomic<bool> in_constructor{false};

void during_load() {
    Torch torch;
    shared = &torch;
    torch.allocator.warm_up();  // the runtime's own first call opens the driver, which takes the loader's lock too
    torch.allocator.lock();
    std::thread loader([] { open("/torch_plugin.so"); });
    while (!in_constructor.load()) std::this_thread::yield();
    usleep(50'000);  // it waits for the lock by now
    void* block = torch.allocator.alloc(kUsage, 1 << 12);
    torch.allocator.unlock();
    loader.join();
    torch.allocator.free(kUsage, block, 1 << 12);
    expect(torch.count() == 3, "the profiler was told of both");
}

}  // namespace

extern "C" void job_makes_a_tensor() {
    in_constructor.store(true);
    expect(shared->allocator.alloc(kUsage, 1 << 13) != nullptr, "room for the plugin's tensor");
}

int main(int argc, char** argv) {
    if (argc != 3) return 2;
    folder = argv[2];
    const std::string situation = argv[1];
    if (situation == "calls") calls();
    if (situation == "handed_on") handed_on();
    if (situation == "forked") forked();
    if (situation == "unloaded") unloaded();
    if (situation == "during_load") during_load();
    if (situation == "without") expect(dlsym(RTLD_DEFAULT, "cuInit") == nullptr, "no CUDA here");
    return 0;
}
