// SPDX-License-Identifier: Apache-2.0
#include <dlfcn.h>
#include <errno.h>

#include <atomic>

#include "shim/capture/stack_capture.h"
#include "shim/hooks/blind_spots.h"
#include "shim/hooks/function_table.h"
#include "shim/hooks/routing.h"
#include "shim/real/link_scope.h"
#include "shim/settings.h"

// What the tail jumps of loader_calls.S do. For every name that is not CUDA's, and for whoever asks in the loader's own
// ways, that is: nothing.
namespace vramtrace::shim {

namespace {

// The loader's real functions, found once; another preload's, if one stands behind us.
enum class Loader : uint8_t { Dlsym, Dlvsym, Dlopen, Dlmopen, Dlclose, Count };
constexpr const char* kLoaderNames[] = {"dlsym", "dlvsym", "dlopen", "dlmopen", "dlclose"};
constinit std::atomic<void*> loader_functions[static_cast<unsigned>(Loader::Count)];

void* real_loader(Loader which) {
    auto& known = loader_functions[static_cast<unsigned>(which)];
    if (void* function = known.load(std::memory_order_relaxed)) return function;  // an address and nothing behind it
    const int kept = errno;
    void* function = next_in_scope(kLoaderNames[static_cast<unsigned>(which)]);
    errno = kept;
    known.store(function, std::memory_order_relaxed);
    return function;
}

struct Plan {
    void* jump;  // nullptr: `word` is the answer
    void* word;
};

// "undefined symbol: cudaMalloc" must be the answer when nobody but us defines cudaMalloc. The loader would find ours, so
// it is asked for a name that reads the same in its message and that no object can define.
const char* undefined_name(Name name) {
    static constexpr const char* kUndefined[] = {
        "",
#define DRIVER(symbol, effect, parameters, arguments) #symbol " ",
#include "shim/hooks/driver_functions.def"
#undef DRIVER
#define RUNTIME(symbol, bytes, parameters, arguments) #symbol " ",
#include "shim/hooks/runtime_functions.def"
#undef RUNTIME
    };
    return kUndefined[static_cast<unsigned>(name)];
}

bool may_be_cuda(const char* name) {
    return name != nullptr && name[0] == 'c' && name[1] == 'u';
}

// The loader answers first; `ask` calls it, whose answer for an explicit handle does not depend on the caller.
template <typename Ask>
Plan plan_symbol(void* real, void* handle, const char* name, Ask ask) {
    const Plan as_it_is{real, const_cast<char*>(name)};
    if (real == nullptr) return {nullptr, nullptr};
    report_blind_spots();
    if (!may_be_cuda(name)) return as_it_is;
    const Name ours = name_of(name);
    if (ours == Name::None && (handle == RTLD_DEFAULT || handle == RTLD_NEXT)) return as_it_is;
    const int kept = errno;
    Plan plan = as_it_is;
    if (handle == RTLD_DEFAULT || handle == RTLD_NEXT) {
        // The answer depends on the caller; it will be our exported wrapper or, behind us, the real function.
        if (!defined_elsewhere(name)) plan.word = const_cast<char*>(undefined_name(ours));
        errno = kept;
        return plan;
    }
    void* answer = ask(handle, name);
    if (is_ours(answer) && ours != Name::None) {
        // A handle of the whole program finds our export first.
        if (!defined_elsewhere(name)) answer = ask(handle, undefined_name(ours));
    } else {
        answer = wrapper_for(answer, name, 0);
    }
    errno = kept;
    return {nullptr, answer};
}

}  // namespace

extern "C" {

[[gnu::visibility("hidden")]] Plan vramtrace_plan_dlsym(void* handle, const char* name) {
    void* real = real_loader(Loader::Dlsym);
    return plan_symbol(real, handle, name, [real](void* of, const char* wanted) {
        return reinterpret_cast<void* (*)(void*, const char*)>(real)(of, wanted);
    });
}

[[gnu::visibility("hidden")]] Plan vramtrace_plan_dlvsym(void* handle, const char* name, const char* version) {
    void* real = real_loader(Loader::Dlvsym);
    return plan_symbol(real, handle, name, [real, version](void* of, const char* wanted) {
        return reinterpret_cast<void* (*)(void*, const char*, const char*)>(real)(of, wanted, version);
    });
}

[[gnu::visibility("hidden")]] Plan vramtrace_plan_dlopen(const char*, int flags) {
    report_blind_spots();
    if ((flags & RTLD_DEEPBIND) != 0) {
        const int kept = errno;
        const Settings* chosen = settings();
        if (chosen != nullptr && chosen->strip_deepbind) {
            flags &= ~RTLD_DEEPBIND;
        } else {
            note_deepbind();
        }
        errno = kept;
    }
    return {real_loader(Loader::Dlopen), reinterpret_cast<void*>(static_cast<intptr_t>(flags))};
}

[[gnu::visibility("hidden")]] Plan vramtrace_plan_dlmopen(Lmid_t space, const char*, int flags) {
    if (space != LM_ID_BASE) note_namespace();
    return {real_loader(Loader::Dlmopen), reinterpret_cast<void*>(static_cast<intptr_t>(flags))};
}

// An ordinary call: dlclose does not ask who calls it.
[[gnu::visibility("default")]] int dlclose(void* handle) noexcept {
    auto* real = reinterpret_cast<int (*)(void*)>(real_loader(Loader::Dlclose));
    if (real == nullptr) return -1;
    const int result = real(handle);
    const int kept = errno;
    libraries_may_have_gone();
    bump_unload_epoch();
    errno = kept;
    return result;
}

}  // extern "C"

}  // namespace vramtrace::shim
