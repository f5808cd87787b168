// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <errno.h>

#include "shim/hooks/call.h"
#include "shim/hooks/call_scope.h"
#include "shim/hooks/function_table.h"
#include "shim/hooks/routing.h"
#include "shim/real/link_scope.h"

// THE ONE BODY of all wrappers. The tables say which effect and which types; nothing else is written by hand.
namespace vramtrace::shim {

// A driver function's wrapper, called as DriverWrapper<Effect, Name::x>{real, calls}(arguments…).
template <typename Effect, Name kName>
struct DriverWrapper {
    void* real;
    const DriverCalls& calls;

    template <typename... Arguments>
    [[gnu::noinline]] Result operator()(Arguments... arguments) const {
        const auto function = reinterpret_cast<Result (*)(Arguments...)>(real);
        if (function == nullptr) return kDriverNotInitialized;
        if (in_own_call()) return function(arguments...);
        Result result;
        int kept;  // the program sees errno as the real call left it
        {
            Call call(kName, calls);
            Effect effect;
            effect.before(call, arguments...);
            result = function(arguments...);
            kept = errno;
            effect.after(call, result, arguments...);
        }
        errno = kept;
        return result;
    }
};

// An exported wrapper stands for whatever its caller would have reached without us.
template <typename Effect, Name kName>
DriverWrapper<Effect, kName> linked_driver(const void* caller) {
    static constexpr DriverCalls kNone{};
    void* real = linked_function(static_cast<unsigned>(kName), name_text(kName), caller);
    return {real, real != nullptr ? driver_calls_of(real) : kNone};
}

// A wrapper that a look-up handed out stands for one function of one library.
template <typename Effect, Name kName>
DriverWrapper<Effect, kName> looked_up_driver(unsigned image) {
    return {image_function(Library::Driver, image, place_of(kName)), driver_calls_of_image(image)};
}

constexpr uint64_t kNotAnAllocation = ~uint64_t{0};

// A runtime function's wrapper: a label around the real call. `bytes` is what the program asked for.
template <Name kName>
struct RuntimeWrapper {
    void* real;
    uint64_t bytes;

    template <typename... Arguments>
    [[gnu::noinline]] Result operator()(Arguments... arguments) const {
        const auto function = reinterpret_cast<Result (*)(Arguments...)>(real);
        if (function == nullptr) return kRuntimeInsufficientDriver;
        const uint32_t failures = failures_of_this_thread();
        const LabelScope label(kName);
        const Result result = function(arguments...);
        if (result != kSuccess && bytes != kNotAnAllocation && failures == failures_of_this_thread())
            failed_without_driver(result);
        return result;
    }

private:
    [[gnu::noinline]] void failed_without_driver(Result result) const {
        if (in_own_call()) return;
        trace::Event event;
        event.kind = trace::EventKind::RuntimeFailed;
        event.size = bytes;
        event.result = static_cast<uint16_t>(result);
        // A machine without a driver or a device is no failed allocation worth a trace.
        record_plain(event, OpensRing(result == kRuntimeMemoryAllocation), WithStack::Yes);
    }
};

}  // namespace vramtrace::shim
