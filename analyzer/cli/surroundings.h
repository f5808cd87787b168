// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

// WHAT IS AROUND US, for `doctor`. Everything that could crash, hang or leave something behind runs in a child process.
namespace vramtrace::cli {

struct ChildOutput {
    bool finished = false;  // in time; else it was killed
    int status = 0;         // as of waitpid
    std::string text;       // stdout and stderr together, bounded

    bool succeeded() const;
};
// Runs a program with `environment` ("NAME=value") added to ours, at most for `seconds`.
ChildOutput run_child(const std::vector<std::string>& command, const std::vector<std::string>& environment,
                      unsigned seconds);

struct CudaDevice {
    int ordinal = 0;
    std::string name;
    uint64_t total_bytes = 0;
};
struct CudaFound {
    std::string driver_path;  // of libcuda.so.1, empty: none
    std::string why;          // why there is none, or why it does not start ("CUDA error 100 (no device)")
    int driver_version = 0;   // 13000
    bool started = false;     // cuInit worked
    bool simulated = false;   // vramtrace's simulated CUDA
    std::vector<CudaDevice> devices;
    std::vector<std::string> runtimes;  // paths of libcudart.so.* that the loader finds
};
// Loads libcuda.so.1 and the usual runtimes in a child and asks them.
CudaFound look_for_cuda(unsigned seconds);

struct DirectoryFound {
    bool writable = false;
    bool local = true;        // not on a network: shared memory files work
    std::string file_system;  // "ext4", "nfs", "0x6969"
    uint64_t free_bytes = 0;
};
DirectoryFound look_at_directory(const std::string& directory);

}  // namespace vramtrace::cli
