// SPDX-License-Identifier: Apache-2.0
// Modules loaded and never unloaded: c08_modules kept | file | control
// 100 times a module with a 4 MiB device array, from memory (or from a file), and its address is asked for. A file named
// in the second argument is loaded in place of the made-up one: a real GPU needs a real cubin with "table".
#include "tests/cases/case.h"
#include "tests/cases/cubin.h"

#include <unistd.h>
#include <chrono>
#include <fstream>
#include <iterator>
#include <thread>
#include <vector>

CASE_FUNCTION CUmodule compiled_variant(const std::vector<char>& cubin, const char* path) {
    CUmodule module = nullptr;
    if (path != nullptr) {
        MUST(cuModuleLoad(&module, path));
    } else {
        MUST(cuModuleLoadData(&module, cubin.data()));
    }
    return module;
}

int main(int argc, char** argv) {
    std::vector<char> cubin = cubin_with_table(4 * kMiB);
    if (argc > 2) {
        std::ifstream file(argv[2], std::ios::binary);
        cubin.assign(std::istreambuf_iterator<char>(file), {});
    }
    const std::string path = "variant-" + std::to_string(getpid()) + ".cubin";
    const bool from_file = is_part(argc, argv, "file");
    if (from_file)
        std::ofstream(path, std::ios::binary).write(cubin.data(), static_cast<std::streamsize>(cubin.size()));
    current_primary_context();
    size_t before = 0;
    size_t total = 0;
    MUST(cuMemGetInfo(&before, &total));
    for (int variant = 0; variant < 100; ++variant) {
        std::this_thread::sleep_for(std::chrono::milliseconds(2));  // compiling it takes longer
        const CUmodule module = compiled_variant(cubin, from_file ? path.c_str() : nullptr);
        CUdeviceptr table = 0;
        size_t bytes = 0;
        MUST(cuModuleGetGlobal(&table, &bytes, module, "table"));
        MUST_HOLD(bytes == 4 * kMiB);
        if (is_part(argc, argv, "control")) MUST(cuModuleUnload(module));
    }
    size_t after = 0;
    MUST(cuMemGetInfo(&after, &total));
    std::printf("device use grew by %zu\n", before - after);
    if (from_file) unlink(path.c_str());
    return 0;
}
