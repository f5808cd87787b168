// SPDX-License-Identifier: Apache-2.0
#include "shim/capture/stack_capture.h"

#include <dlfcn.h>
#include <sys/time.h>
#include <sys/wait.h>

#include <csetjmp>
#include <csignal>
#include <set>
#include <thread>

#include "shim/thread_state.h"
#include "tests/support/catch.h"
#include "tests/unit/shim/capture/both_walks.h"

using namespace vramtrace;
using shim::CapturedStack;
using test::current_definitions;
using test::WithDefinitions;

namespace {

volatile int sink;
CapturedStack captured;

[[gnu::noinline]] void capture_here() {
    captured = shim::capture_stack(current_definitions()->table(), 128);
    sink = 1;
}

[[gnu::noinline]] CapturedStack capture_at(int depth, unsigned limit) {
    const CapturedStack result =
        depth == 0 ? shim::capture_stack(current_definitions()->table(), limit) : capture_at(depth - 1, limit);
    sink = depth;
    return result;
}

// Paths of the modules in a stack, innermost first.
std::vector<std::string> paths_of(trace::DefinitionId id) {
    std::vector<std::string> paths;
    for (const trace::Frame frame : current_definitions()->stack(id).frames) {
        paths.push_back(current_definitions()->module(trace::frame_module(frame)).path);
    }
    return paths;
}

std::string file_name(const std::string& path) {
    return path.substr(path.rfind('/') + 1);
}

}  // namespace

TEST_CASE("equal stacks give equal ids, others do not", "[capture]") {
    WithDefinitions with;
    std::set<trace::DefinitionId> ids;
    for (int i = 0; i < 3; ++i) {
        for (int depth = 0; depth < 4; ++depth) {
            const CapturedStack result = capture_at(depth, 128);
            REQUIRE(result.id != 0);
            CHECK(result.loss == trace::Loss::Count);
            ids.insert(result.id);
        }
    }
    CHECK(ids.size() == 4);
    CHECK(with.definitions.count(trace::DefinitionKind::Stack) == 4);
}

TEST_CASE("each module is published once, with what names it", "[capture]") {
    WithDefinitions with;
    for (int depth = 0; depth < 50; ++depth) REQUIRE(capture_at(depth, 128).id != 0);
    const auto frames = with.definitions.stack(capture_at(1, 128).id).frames;
    std::set<trace::DefinitionId> modules;
    for (const trace::Frame frame : frames) modules.insert(trace::frame_module(frame));
    CHECK(modules.size() == with.definitions.count(trace::DefinitionKind::Module));
    const test::ModuleView own = with.definitions.module(trace::frame_module(frames.front()));
    CHECK(own.body.flags == trace::kModuleMain);
    CHECK(file_name(own.path) == "vramtrace_shim_capture_tests");
    const auto here = reinterpret_cast<uintptr_t>(&capture_at);
    CHECK(own.body.start <= here);
    CHECK(own.body.end > here);
    Dl_info info{};
    REQUIRE(dladdr(reinterpret_cast<void*>(here), &info) != 0);
    CHECK(own.body.bias == reinterpret_cast<uintptr_t>(info.dli_fbase));
    bool libc = false;
    for (const trace::DefinitionId id : modules) {
        const test::ModuleView module = with.definitions.module(id);
        libc = libc || file_name(module.path).rfind("libc", 0) == 0;
        CHECK(module.path.front() == '/');
    }
    CHECK(libc);
}

TEST_CASE("the depth limit", "[capture]") {
    WithDefinitions with;
    const size_t whole = with.definitions.stack(capture_at(10, 128).id).frames.size();
    for (const unsigned limit : {1U, 5U, static_cast<unsigned>(whole) - 1}) {
        const test::StackView stack = with.definitions.stack(capture_at(10, limit).id);
        CHECK(stack.frames.size() == limit);
        CHECK(stack.body.flags == trace::kStackTruncated);
    }
    const test::StackView exact = with.definitions.stack(capture_at(10, static_cast<unsigned>(whole)).id);
    CHECK(exact.frames.size() == whole);
    CHECK(exact.body.flags == 0);
    CHECK(with.definitions.stack(capture_at(10, 0).id).frames.size() == 1);
    const test::StackView longest = with.definitions.stack(capture_at(3000, 100000).id);
    CHECK(longest.frames.size() == 1024);
    CHECK(longest.body.flags == trace::kStackTruncated);
}

TEST_CASE("a capture inside a capture", "[capture]") {
    WithDefinitions with;
    // As deep as a handler would be when it interrupts a capture.
    REQUIRE(capture_at(0, 128).id != 0);
    shim::thread_state.capturing = 1;
    const CapturedStack nested = capture_at(10, 128);
    shim::thread_state.capturing = 0;
    CHECK(nested.id == 0);
    CHECK(nested.loss == trace::Loss::StackNested);
    CHECK(capture_at(0, 128).id != 0);
    CHECK(shim::thread_state.capturing == 0);
}

TEST_CASE("errno stays what it was", "[capture]") {
    WithDefinitions with;
    errno = 77;
    REQUIRE(capture_at(3, 128).id != 0);
    CHECK(errno == 77);
    shim::bump_unload_epoch();
    REQUIRE(capture_at(3, 128).id != 0);
    CHECK(errno == 77);
}

TEST_CASE("no room for definitions is said, and the next capture goes on", "[capture]") {
    test::MemoryDefinitions small(1024);
    current_definitions() = &small;
    const CapturedStack first = capture_at(100, 128);
    CHECK(first.id == 0);
    CHECK(first.loss == trace::Loss::DefinitionFull);
    CHECK(small.full() > 0);
    CHECK(capture_at(0, 2).loss != trace::Loss::StackNested);
    current_definitions() = nullptr;
}

TEST_CASE("code of another library at the same addresses after dlclose", "[capture][unload]") {
    WithDefinitions with;
    std::vector<uintptr_t> places;
    for (int round = 0; round < 6; ++round) {
        const char* const path = round % 2 == 0 ? PLUGIN_FIRST : PLUGIN_OTHER;
        void* plugin = dlopen(path, RTLD_NOW | RTLD_LOCAL);
        REQUIRE(plugin != nullptr);
        auto run = reinterpret_cast<void (*)(void (*)())>(dlsym(plugin, "run_plugin"));
        REQUIRE(run != nullptr);
        places.push_back(reinterpret_cast<uintptr_t>(run));
        for (int again = 0; again < 3; ++again) {
            run(capture_here);
            REQUIRE(captured.id != 0);
            const auto paths = paths_of(captured.id);
            REQUIRE(paths.size() > 3);
            CHECK(file_name(paths[0]) == "vramtrace_shim_capture_tests");
            CHECK(file_name(paths[1]) == file_name(path));
            CHECK(file_name(paths[2]) == file_name(path));
            CHECK(current_definitions()->stack(captured.id).body.flags == 0);
        }
        dlclose(plugin);
        shim::bump_unload_epoch();
    }
    // The test is worth something only if the loader did use the addresses again.
    CHECK(places[0] == places[1]);
    // Six loads of two files at one place: unchanged content at the same place is the same module.
    std::set<std::string> plugins;
    size_t count = 0;
    for (trace::DefinitionId id = 1; id < 100000; ++id) {
        const test::ModuleView module = with.definitions.module(id);
        if (module.path.find("capture_plugin") == std::string::npos) continue;
        plugins.insert(module.path);
        ++count;
    }
    CHECK(plugins.size() == 2);
    CHECK(count == 2);
}

TEST_CASE("an unload of something else costs no new definitions", "[capture][unload]") {
    WithDefinitions with;
    REQUIRE(capture_at(4, 128).id != 0);
    const CapturedStack before = capture_at(4, 128);
    const size_t modules = with.definitions.count(trace::DefinitionKind::Module);
    for (int i = 0; i < 5; ++i) {
        shim::bump_unload_epoch();
        capture_at(3, 128);
    }
    CHECK(with.definitions.count(trace::DefinitionKind::Module) == modules);
    CHECK(with.definitions.count(trace::DefinitionKind::Stack) <= 3);
    CHECK(before.id != 0);
}

namespace {

CapturedStack (*wrapped_capture)(trace::DefinitionTable&, unsigned);
void (*call_through)(void (*)());

[[gnu::noinline]] void wrapped_here() {
    captured = wrapped_capture(current_definitions()->table(), 128);
    sink = 4;
}

}  // namespace

TEST_CASE("frames of the library that captures are left out, wherever they are", "[capture]") {
    WithDefinitions with;
    void* library = dlopen(WRAPPING, RTLD_NOW | RTLD_LOCAL);
    REQUIRE(library != nullptr);
    wrapped_capture = reinterpret_cast<decltype(wrapped_capture)>(dlsym(library, "wrapped_capture"));
    call_through = reinterpret_cast<decltype(call_through)>(dlsym(library, "call_through"));
    call_through(wrapped_here);
    REQUIRE(captured.id != 0);
    const auto paths = paths_of(captured.id);
    REQUIRE(paths.size() > 2);
    CHECK(file_name(paths.front()) == "vramtrace_shim_capture_tests");
    for (const std::string& path : paths) CHECK(path != WRAPPING);
    test::Addresses addresses;
    uint16_t flags = 0;
    with.definitions.addresses(captured.id, addresses, flags);
    Dl_info info{};
    const auto wrapped = reinterpret_cast<uintptr_t>(&wrapped_here);
    CHECK(addresses[0] > wrapped);
    CHECK(addresses[0] < wrapped + 200);
    CHECK(dladdr(reinterpret_cast<void*>(addresses[1]), &info) != 0);
    CHECK(flags == 0);
}

TEST_CASE("a fork's child starts anew", "[capture][fork]") {
    WithDefinitions with;
    REQUIRE(capture_at(5, 128).id != 0);
    const pid_t child = fork();
    if (child == 0) {
        // The parent's ids mean nothing here: the child has a table of its own.
        test::MemoryDefinitions own;
        current_definitions() = &own;
        const CapturedStack result = capture_at(5, 128);
        const bool good =
            result.id != 0 && own.stack(result.id).frames.size() > 5 &&
            own.module(trace::frame_module(own.stack(result.id).frames[0])).body.flags == trace::kModuleMain;
        _exit(good ? 0 : 1);
    }
    int status = 0;
    waitpid(child, &status, 0);
    CHECK(WIFEXITED(status));
    CHECK(WEXITSTATUS(status) == 0);
    CHECK(capture_at(5, 128).id != 0);
}

namespace {

std::atomic<int> nested, whole, wrong;

void capture_in_handler(int) {
    static thread_local test::BothWalks walks;
    test::walk_both(walks, false);
    if (walks.loss == trace::Loss::StackNested) {
        nested.fetch_add(1);
    } else if (walks.equal()) {
        whole.fetch_add(1);
    } else {
        wrong.fetch_add(1);
    }
}

}  // namespace

TEST_CASE("handlers that capture while captures are in progress", "[capture][signals]") {
    WithDefinitions with;
    struct sigaction action {};
    action.sa_handler = capture_in_handler;
    action.sa_flags = SA_RESTART;
    sigaction(SIGALRM, &action, nullptr);
    itimerval every{{0, 200}, {0, 200}};
    setitimer(ITIMER_REAL, &every, nullptr);
    std::set<trace::DefinitionId> ids;
    for (int i = 0; whole.load() < 500 || nested.load() < 5; ++i) {
        const CapturedStack result = capture_at(i % 20, 128);
        if (result.id != 0) ids.insert(result.id);
        if (i % 1000 == 0) shim::bump_unload_epoch();
        if (i > 20000000) break;
    }
    every = {};
    setitimer(ITIMER_REAL, &every, nullptr);
    action.sa_handler = SIG_DFL;
    sigaction(SIGALRM, &action, nullptr);
    CHECK(wrong.load() == 0);
    CHECK(whole.load() >= 500);
    CHECK(nested.load() >= 5);
    CHECK(ids.size() == 20);
}

namespace {

sigjmp_buf way_out;
volatile sig_atomic_t left_in_the_middle;

void leave(int) {
    if (!shim::thread_state.capturing) return;
    left_in_the_middle = left_in_the_middle + 1;
    siglongjmp(way_out, 1);
}

}  // namespace

TEST_CASE("handlers that leave a capture by longjmp", "[capture][signals]") {
    WithDefinitions with;
    struct sigaction action {};
    action.sa_handler = leave;
    sigaction(SIGALRM, &action, nullptr);
    itimerval every{{0, 150}, {0, 150}};
    setitimer(ITIMER_REAL, &every, nullptr);
    left_in_the_middle = 0;
    static volatile int captures, lost;
    captures = 0;
    lost = 0;
    sigsetjmp(way_out, 1);
    while (left_in_the_middle < 300) {  // more often than there are slots
        const CapturedStack result = capture_at(20, 128);
        captures = captures + 1;
        if (result.id == 0) lost = lost + 1;
    }
    every = {};
    setitimer(ITIMER_REAL, &every, nullptr);
    action.sa_handler = SIG_DFL;
    sigaction(SIGALRM, &action, nullptr);
    CHECK(captures > 0);
    CHECK(lost == 0);
    CHECK(capture_at(20, 128).id != 0);
    CHECK(with.definitions.count(trace::DefinitionKind::Stack) < 50);
}

TEST_CASE("threads at once, with unloads in between", "[capture][threads]") {
    WithDefinitions with;
    std::atomic<int> failed{0}, stacks{0};
    std::vector<std::thread> threads;
    for (int t = 0; t < 6; ++t) {
        threads.emplace_back([&, t] {
            for (int i = 0; i < 20000; ++i) {
                const CapturedStack result = capture_at(i % 50, 128);
                if (result.id == 0) failed.fetch_add(1);
                const size_t frames = with.definitions.table().body(result.id).size();
                if (frames > 8 * (static_cast<size_t>(i % 50) + 1)) stacks.fetch_add(1);
                if (t == 0 && i % 500 == 0) shim::bump_unload_epoch();
            }
        });
    }
    for (std::thread& thread : threads) thread.join();
    CHECK(failed.load() == 0);
    CHECK(stacks.load() == 6 * 20000);
    // At most a few were defined twice, by threads that met the same stack at the same moment.
    CHECK(with.definitions.count(trace::DefinitionKind::Stack) <= 2 * 50);
}
