// SPDX-License-Identifier: Apache-2.0
// What the Python frames of a capture cost, on the thread's own interpreter: a real CPython, loaded from the path in
// VRAMTRACE_BENCH_LIBPYTHON, calls the benchmark at the depth that the number says.
//
//   VRAMTRACE_BENCH_LIBPYTHON=/usr/lib/libpython3.12.so PYTHONHOME=/usr python_bench
#include <benchmark/benchmark.h>
#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <string>

#include "shim/capture/stack_capture.h"
#include "tests/unit/shim/capture/memory_definitions.h"

using namespace vramtrace;

namespace {

void* library = nullptr;
benchmark::State* current = nullptr;
shim::WithPython with_python = shim::WithPython::Yes;

template <typename Result, typename... Arguments>
Result call(const char* name, Arguments... arguments) {
    return reinterpret_cast<Result (*)(Arguments...)>(dlsym(library, name))(arguments...);
}

struct Method {
    const char* name;
    void* (*function)(void*, void*);
    int flags;
    const char* text;
};

test::MemoryDefinitions& definitions() {
    static test::MemoryDefinitions table(512U << 20);
    return table;
}

void* measure(void*, void*) {
    trace::DefinitionId id = 0;
    for (auto _ : *current) {
        id = shim::capture_stack(definitions().table(), 128, with_python).id;
        benchmark::DoNotOptimize(id);
    }
    const bool joined = definitions().table().kind(id) == trace::DefinitionKind::JoinedStack;
    if (joined != (with_python == shim::WithPython::Yes)) current->SkipWithError("no Python frames");
    return call<void*>("PyLong_FromSize_t", size_t{0});
}

void run(benchmark::State& state, shim::WithPython python) {
    if (library == nullptr) return state.SkipWithError("VRAMTRACE_BENCH_LIBPYTHON names no libpython");
    current = &state;
    with_python = python;
    const std::string text = "down(" + std::to_string(state.range(0)) + ")";
    if (call<int>("PyRun_SimpleString", text.c_str()) != 0) state.SkipWithError("Python failed");
}

void native_alone(benchmark::State& state) {
    run(state, shim::WithPython::No);
}
void with_python_frames(benchmark::State& state) {
    run(state, shim::WithPython::Yes);
}
BENCHMARK(native_alone)->Arg(3)->Arg(30)->Arg(100);
BENCHMARK(with_python_frames)->Arg(3)->Arg(30)->Arg(100);

}  // namespace

int main(int count, char** arguments) {
    static Method method{"measure", measure, 4 /* METH_NOARGS */, nullptr};
    if (const char* path = std::getenv("VRAMTRACE_BENCH_LIBPYTHON")) library = dlopen(path, RTLD_NOW | RTLD_GLOBAL);
    if (library != nullptr) {
        call<void>("Py_InitializeEx", 0);
        void* nothing = nullptr;
        call<int>("PyObject_SetAttrString", call<void*>("PyImport_AddModule", "__main__"), "measure",
                  call<void*>("PyCFunction_NewEx", &method, nothing, nothing));
        call<int>("PyRun_SimpleString", "def down(n):\n    return measure() if n == 0 else down(n - 1)\n");
    }
    benchmark::Initialize(&count, arguments);
    benchmark::RunSpecifiedBenchmarks();
    return 0;
}
