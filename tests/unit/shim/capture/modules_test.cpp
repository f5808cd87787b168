// SPDX-License-Identifier: Apache-2.0
#include "shim/capture/modules.h"

#include <dlfcn.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <memory>

#include "shim/capture/code_map.h"
#include "tests/support/catch.h"
#include "tests/unit/shim/capture/both_walks.h"

using namespace vramtrace;
using test::current_definitions;
using test::WithDefinitions;

namespace {

shim::CapturedStack captured;
volatile int sink;

[[gnu::noinline]] void capture_here() {
    captured = shim::capture_stack(current_definitions()->table(), 128);
    sink = 1;
}

void write_over(const std::string& path, const char* from) {
    std::ofstream(path, std::ios::binary | std::ios::trunc) << std::ifstream(from, std::ios::binary).rdbuf();
}

// The first frame outside of this program's file.
test::ModuleView foreign_module(trace::DefinitionId stack) {
    for (const trace::Frame frame : current_definitions()->stack(stack).frames) {
        const test::ModuleView module = current_definitions()->module(trace::frame_module(frame));
        if (!(module.body.flags & trace::kModuleMain)) return module;
    }
    return {};
}

}  // namespace

TEST_CASE("a file that was written anew in place is another module", "[capture][modules]") {
    WithDefinitions with;
    const std::string path = "/tmp/vramtrace-rewritten-" + std::to_string(getpid()) + ".so";
    write_over(path, PLUGIN_FIRST);
    struct stat before {
    }, after{};
    stat(path.c_str(), &before);
    std::vector<test::ModuleView> modules;
    for (int round = 0; round < 2; ++round) {
        if (round == 1) write_over(path, PLUGIN_OTHER);
        void* plugin = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
        REQUIRE(plugin != nullptr);
        reinterpret_cast<void (*)(void (*)())>(dlsym(plugin, "run_plugin"))(capture_here);
        REQUIRE(captured.id != 0);
        modules.push_back(foreign_module(captured.id));
        CHECK(modules.back().path == path);
        dlclose(plugin);
        shim::bump_unload_epoch();
    }
    stat(path.c_str(), &after);
    unlink(path.c_str());
    CHECK(before.st_ino == after.st_ino);
    if (modules[0].body.start != modules[1].body.start) WARN("the loader chose another place: nothing was shown");
    CHECK(modules[0].build_id.size() == 20);
    CHECK(modules[1].build_id.size() == 20);
    CHECK(modules[0].build_id != modules[1].build_id);
    CHECK(modules[0].body.generation < modules[1].body.generation);
}

TEST_CASE("a deleted file keeps its name", "[capture][modules]") {
    WithDefinitions with;
    const std::string path = "/tmp/vramtrace-deleted-" + std::to_string(getpid()) + ".so";
    write_over(path, PLUGIN_OTHER);
    void* plugin = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    REQUIRE(plugin != nullptr);
    unlink(path.c_str());
    reinterpret_cast<void (*)(void (*)())>(dlsym(plugin, "run_plugin"))(capture_here);
    REQUIRE(captured.id != 0);
    CHECK(foreign_module(captured.id).path == path);
    dlclose(plugin);
    shim::bump_unload_epoch();
}

TEST_CASE("generated code is a module without a file, and the walk says that it ends there", "[capture][modules]") {
    WithDefinitions with;
    // push %rbp; mov %rsp, %rbp; call *%rdi; pop %rbp; ret
    const unsigned char code[] = {0x55, 0x48, 0x89, 0xe5, 0xff, 0xd7, 0x5d, 0xc3};
    constexpr size_t kBytes = 8192;
    void* pages = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    memcpy(static_cast<char*>(pages) + 64, code, sizeof(code));
    REQUIRE(mprotect(pages, kBytes, PROT_READ | PROT_EXEC) == 0);
    reinterpret_cast<void (*)(void (*)())>(reinterpret_cast<uintptr_t>(pages) + 64)(capture_here);
    REQUIRE(captured.id != 0);
    const test::StackView stack = with.definitions.stack(captured.id);
    CHECK(stack.body.flags == trace::kStackIncomplete);
    REQUIRE(stack.frames.size() == 2);
    const test::ModuleView module = with.definitions.module(trace::frame_module(stack.frames[1]));
    CHECK(module.body.flags == trace::kModuleAnonymous);
    CHECK(module.path == "[anonymous]");
    CHECK(module.body.bias == module.body.start);
    CHECK(module.body.bias + trace::frame_offset(stack.frames[1]) == reinterpret_cast<uintptr_t>(pages) + 64 + 5);
    munmap(pages, kBytes);
}

TEST_CASE("an instruction pointer to nowhere", "[capture][modules]") {
    WithDefinitions with;
    auto code = std::make_unique<shim::CodeMap>();
    shim::Row row;
    for (const uintptr_t pc : {uintptr_t{0}, uintptr_t{1}, uintptr_t{4096}, reinterpret_cast<uintptr_t>(&row),
                               uintptr_t{1} << 47, ~uintptr_t{0}}) {
        CHECK(code->row(pc, code->epoch(), with.definitions.table(), row) == shim::CodeMap::Found::Nowhere);
        CHECK(code->row(pc, code->epoch(), with.definitions.table(), row) == shim::CodeMap::Found::Nowhere);
    }
    const auto here = reinterpret_cast<uintptr_t>(&capture_here);
    CHECK(code->row(here, code->epoch(), with.definitions.table(), row) == shim::CodeMap::Found::Row);
    CHECK(row.kind() == shim::RowKind::Offset);
}

TEST_CASE("the kernel's own library", "[capture][modules]") {
    WithDefinitions with;
    auto list = std::make_unique<shim::ModuleList>();
    bool changed = false;
    REQUIRE(list->read(0, 3, changed));
    CHECK_FALSE(changed);
    std::ifstream maps("/proc/self/maps");
    uintptr_t vdso = 0;
    for (std::string line; std::getline(maps, line);) {
        if (line.find("[vdso]") != std::string::npos) vdso = std::stoull(line, nullptr, 16);
    }
    if (vdso == 0) return;
    shim::Module* module = list->find(vdso + 0x800);
    REQUIRE(module != nullptr);
    REQUIRE(list->resolve(*module, with.definitions.table()));
    const test::ModuleView view = with.definitions.module(module->definition.load());
    CHECK(view.body.flags == trace::kModuleVdso);
    CHECK(view.path == "[vdso]");
    CHECK(view.body.bias == vdso);
    CHECK(view.body.generation == 3);
    CHECK(module->image.eh_frame_header != 0);
    // Read again: nothing is new, nothing is gone, and it keeps its definition.
    REQUIRE(list->read(0, 4, changed));
    CHECK_FALSE(changed);
    CHECK(list->find(vdso + 0x800) == module);
}
