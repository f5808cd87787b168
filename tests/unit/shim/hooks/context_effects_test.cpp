// SPDX-License-Identifier: Apache-2.0
// What calls that make and end contexts mean.
#include "shim/hooks/effects/contexts.h"

#include "tests/support/catch.h"
#include "tests/unit/shim/hooks/fake_driver.h"

using namespace vramtrace::shim;
using vramtrace::trace::DefinitionKind;
using vramtrace::trace::EventKind;

TEST_CASE("a context gets an index at creation, loses it at its end, and a reused handle gets a new one") {
    start(nullptr);
    Handle context = handle(0x200);
    call<contexts::Creates, Name::cuCtxCreate_v2>(&context, Flags{0}, Ordinal{0});
    const auto created = recorder.one(EventKind::ContextCreate);
    CHECK(created.object == 0x200);
    CHECK(created.device == 0);
    driver.current = context;
    allocate(0x5000, 1);
    CHECK(recorder.one(EventKind::DeviceAlloc).context == created.context);
    CHECK(recorder.count(EventKind::ContextSeen) == 0);

    driver.result = [] { return 201; };
    call<contexts::Destroys, Name::cuCtxDestroy_v2>(context);
    CHECK(recorder.one(EventKind::FreeFailed).aux == static_cast<uint64_t>(EventKind::ContextDestroy));
    driver.result = nullptr;
    recorder.events.clear();
    allocate(0x6000, 1);  // the refused destroy changed nothing
    CHECK(recorder.one(EventKind::DeviceAlloc).context == created.context);

    recorder.events.clear();
    call<contexts::Destroys, Name::cuCtxDestroy_v2>(context);
    CHECK(recorder.one(EventKind::ContextDestroy).context == created.context);
    call<contexts::Creates, Name::cuCtxCreate_v2>(&context, Flags{0}, Ordinal{0});
    CHECK(recorder.one(EventKind::ContextCreate).context != created.context);
    call<contexts::Destroys, Name::cuCtxDestroy_v2>(context);
}

TEST_CASE("only the last detach ends a context") {
    start(nullptr);
    Handle context = handle(0x210);
    call<contexts::Creates, Name::cuCtxCreate>(&context, Flags{0}, Ordinal{0});
    call<contexts::Attaches, Name::cuCtxAttach>(&context, Flags{0});
    call<contexts::Detaches, Name::cuCtxDetach>(context);
    CHECK(recorder.count(EventKind::ContextDestroy) == 0);
    call<contexts::Detaches, Name::cuCtxDetach>(context);
    CHECK(recorder.count(EventKind::ContextDestroy) == 1);
}

TEST_CASE("a primary context lives from its first retain to its last release or its reset") {
    start(nullptr);
    Handle context = handle(0x220);
    const auto retain = [&] { call<contexts::RetainsPrimary, Name::cuDevicePrimaryCtxRetain>(&context, Ordinal{1}); };
    const auto release = [] { call<contexts::ReleasesPrimary, Name::cuDevicePrimaryCtxRelease>(Ordinal{1}); };
    retain();
    retain();
    const auto created = recorder.one(EventKind::ContextSeen);
    CHECK(created.device == 1);
    CHECK(recorder.count(EventKind::PrimaryRetain) == 2);
    release();
    driver.current = context;
    driver.device = 1;
    allocate(0x5000, 1);
    CHECK(recorder.one(EventKind::DeviceAlloc).context == created.context);
    CHECK(recorder.count(EventKind::ContextSeen) == 1);
    release();
    CHECK(recorder.count(EventKind::PrimaryRelease) == 2);
    recorder.events.clear();
    retain();
    const auto again = recorder.one(EventKind::ContextSeen);
    CHECK(again.context != created.context);
    call<contexts::ResetsPrimary, Name::cuDevicePrimaryCtxReset>(Ordinal{1});
    CHECK(recorder.one(EventKind::PrimaryReset).context == again.context);
    recorder.events.clear();
    allocate(0x5000, 1);
    CHECK(recorder.one(EventKind::ContextSeen).object == 0x220);
}

TEST_CASE("the context of a green one is nobody's to destroy: it is seen, not created") {
    start();
    allocate(0x5000, 1);
    Handle green = handle(0x230), context = handle(0x231);
    call<contexts::CreatesGreen, Name::cuGreenCtxCreate>(&green, handle(1), Ordinal{0}, Flags{1});
    recorder.events.clear();
    call<contexts::ComesFromGreen, Name::cuCtxFromGreenCtx>(&context, green);
    CHECK(recorder.one(EventKind::ContextSeen).object == 0x231);
    CHECK(recorder.count(EventKind::ContextCreate) == 0);
    call<contexts::ComesFromGreen, Name::cuCtxFromGreenCtx>(&context, green);
    CHECK(recorder.count(EventKind::ContextSeen) == 1);
}
