// SPDX-License-Identifier: Apache-2.0
// Loads plugins from its own folder and runs each: plugin_host local|global|deepbind|dlmopen PLUGIN…
// It has no CUDA of its own.
#include "tests/programs/expect.h"

#include <dlfcn.h>
#include <unistd.h>
#include <string>

namespace {

std::string own_folder() {
    char path[4096];
    const ssize_t length = readlink("/proc/self/exe", path, sizeof path);
    MUST_HOLD(length > 0 && length < static_cast<ssize_t>(sizeof path));
    const std::string whole(path, static_cast<size_t>(length));
    return whole.substr(0, whole.rfind('/'));
}

}  // namespace

int main(int argc, char** argv) {
    MUST_HOLD(argc > 2);
    const std::string how = argv[1];
    int flags = RTLD_NOW | RTLD_LOCAL;
    if (how == "global") flags = RTLD_NOW | RTLD_GLOBAL;
    if (how == "deepbind") flags = RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND;
    for (int i = 2; i < argc; ++i) {
        const std::string path = own_folder() + "/" + argv[i];
        void* plugin = how == "dlmopen" ? dlmopen(LM_ID_NEWLM, path.c_str(), flags) : dlopen(path.c_str(), flags);
        if (plugin == nullptr) fail(dlerror(), 0);
        auto run = reinterpret_cast<int (*)(size_t)>(dlsym(plugin, "plugin_run"));
        MUST_HOLD(run != nullptr);
        MUST(run(100000 + 1000 * static_cast<size_t>(i)));
    }
    return 0;
}
