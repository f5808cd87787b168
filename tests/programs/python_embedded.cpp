// SPDX-License-Identifier: Apache-2.0
// A program that brings an interpreter in late, keeps its symbols to itself, and throws it out again.
//
//   python_embedded LIBPYTHON      Each allocation has a size of its own; the test knows what each one's stack must be.
#include <dlfcn.h>
#include <pthread.h>

#include "tests/programs/expect.h"

extern "C" {
int cuInit(unsigned flags);
int cuDevicePrimaryCtxRetain(void** context, int device);
int cuCtxSetCurrent(void* context);
int cuMemAlloc_v2(unsigned long long* address, size_t bytes);
}

namespace {

void* library = nullptr;
void* context = nullptr;

void allocate(size_t bytes) {
    unsigned long long address = 0;
    MUST(cuMemAlloc_v2(&address, bytes));
}

// Functions that are declared alike in every version; what Python.h calls PyObject* is void* here.
template <typename Result, typename... Arguments>
Result call(const char* name, Arguments... arguments) {
    void* found = dlsym(library, name);
    MUST_HOLD(found != nullptr);
    return reinterpret_cast<Result (*)(Arguments...)>(found)(arguments...);
}

struct Method {
    const char* name;
    void* (*function)(void*, void*);
    int flags;
    const char* text;
};
constexpr int kOneArgument = 8;  // METH_O

void* allocate_method(void*, void* number) {
    allocate(call<size_t>("PyLong_AsSize_t", number));
    return call<void*>("PyLong_FromSize_t", size_t{0});
}

void run_python(const char* text) {
    MUST(call<int>("PyRun_SimpleString", text));
}

void start_python(const char* path) {
    static Method method{"allocate", allocate_method, kOneArgument, nullptr};
    library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    MUST_HOLD(library != nullptr);
    call<void>("Py_InitializeEx", 0);
    void* main_module = call<void*>("PyImport_AddModule", "__main__");
    void* nothing = nullptr;
    void* made = call<void*>("PyCFunction_NewEx", &method, nothing, nothing);
    MUST_HOLD(main_module != nullptr && made != nullptr);
    MUST(call<int>("PyObject_SetAttrString", main_module, "allocate", made));
    run_python("def inner(n):\n    allocate(n)\ndef outer(n):\n    inner(n)\n");
}

void* thread_without_python(void*) {
    MUST(cuCtxSetCurrent(context));
    allocate(5005);
    return nullptr;
}

void* thread_with_python(void*) {
    MUST(cuCtxSetCurrent(context));
    const int state = call<int>("PyGILState_Ensure");
    run_python("outer(5007)");
    call<void>("PyGILState_Release", state);
    return nullptr;
}

void in_thread(void* (*body)(void*)) {
    pthread_t thread;
    MUST(pthread_create(&thread, nullptr, body, nullptr));
    pthread_join(thread, nullptr);
}

}  // namespace

int main(int count, char** arguments) {
    MUST_HOLD(count == 2);
    MUST(cuInit(0));
    MUST(cuDevicePrimaryCtxRetain(&context, 0));
    MUST(cuCtxSetCurrent(context));
    allocate(5001);
    start_python(arguments[1]);
    run_python("outer(5003)");
    allocate(5004);  // the thread has a state, but no frames now
    void* state = call<void*>("PyEval_SaveThread");
    in_thread(thread_without_python);
    in_thread(thread_with_python);
    call<void>("PyEval_RestoreThread", state);
    call<int>("Py_FinalizeEx");
    allocate(5009);
    dlclose(library);
    allocate(5011);
    return 0;
}
