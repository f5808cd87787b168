// SPDX-License-Identifier: Apache-2.0
// The shim's own picture of NVTX's binary interface against the public headers. Nothing here runs; that it compiles is the
// test.
#include <nvtx3/nvToolsExt.h>

#include <cstddef>
#include <type_traits>

#include "shim/api/nvtx_types.h"

namespace ours = vramtrace::shim::nvtx;

static_assert(ours::kCallbacks == NVTX_ETID_CALLBACKS && ours::kVersionInfo == NVTX_ETID_VERSIONINFO);
static_assert(ours::kVersion == NVTX_VERSION);
static_assert(int{ours::kCore} == int{NVTX_CB_MODULE_CORE} && int{ours::kCore2} == int{NVTX_CB_MODULE_CORE2});
static_assert(ours::kNoPushPopTracking == NVTX_NO_PUSH_POP_TRACKING);

#define SAME_ID(module, name) \
    static_assert(static_cast<int>(ours::k##name) == static_cast<int>(NVTX_CBID_##module##_##name))
SAME_ID(CORE, MarkEx);
SAME_ID(CORE, MarkA);
SAME_ID(CORE, MarkW);
SAME_ID(CORE, RangeStartEx);
SAME_ID(CORE, RangeStartA);
SAME_ID(CORE, RangeStartW);
SAME_ID(CORE, RangeEnd);
SAME_ID(CORE, RangePushEx);
SAME_ID(CORE, RangePushA);
SAME_ID(CORE, RangePushW);
SAME_ID(CORE, RangePop);
SAME_ID(CORE2, DomainMarkEx);
SAME_ID(CORE2, DomainRangeStartEx);
SAME_ID(CORE2, DomainRangeEnd);
SAME_ID(CORE2, DomainRangePushEx);
SAME_ID(CORE2, DomainRangePop);
SAME_ID(CORE2, DomainRegisterStringA);
SAME_ID(CORE2, DomainRegisterStringW);
SAME_ID(CORE2, DomainCreateA);
SAME_ID(CORE2, DomainCreateW);
SAME_ID(CORE2, DomainDestroy);

#define SAME_PLACE(our, our_member, their, their_member)                             \
    static_assert(offsetof(ours::our, our_member) == offsetof(their, their_member)); \
    static_assert(sizeof(ours::our::our_member) == sizeof(their::their_member))
static_assert(sizeof(ours::CallbackTable) == sizeof(NvtxExportTableCallbacks));
SAME_PLACE(CallbackTable, struct_size, NvtxExportTableCallbacks, struct_size);
SAME_PLACE(CallbackTable, get_module, NvtxExportTableCallbacks, GetModuleFunctionTable);
static_assert(sizeof(ours::VersionTable) == sizeof(NvtxExportTableVersionInfo));
SAME_PLACE(VersionTable, version, NvtxExportTableVersionInfo, version);
SAME_PLACE(VersionTable, set_injection_version, NvtxExportTableVersionInfo, SetInjectionNvtxVersion);
static_assert(sizeof(ours::Attributes) == sizeof(nvtxEventAttributes_t));
SAME_PLACE(Attributes, version, nvtxEventAttributes_t, version);
SAME_PLACE(Attributes, size, nvtxEventAttributes_t, size);
SAME_PLACE(Attributes, message_type, nvtxEventAttributes_t, messageType);
SAME_PLACE(Attributes, message, nvtxEventAttributes_t, message);
static_assert(static_cast<int>(ours::kMessageUnknown) == NVTX_MESSAGE_UNKNOWN);
static_assert(static_cast<int>(ours::kMessageAscii) == NVTX_MESSAGE_TYPE_ASCII);
static_assert(static_cast<int>(ours::kMessageWide) == NVTX_MESSAGE_TYPE_UNICODE);
static_assert(static_cast<int>(ours::kMessageRegistered) == NVTX_MESSAGE_TYPE_REGISTERED);

// What we set in the slots is called with these types: words and pointers alone, so that ours are passed alike.
static_assert(std::is_same_v<nvtxRangeId_t, uint64_t>);
static_assert(std::is_same_v<nvtxMarkA_impl_fntype, void (*)(const char*)>);
static_assert(std::is_same_v<nvtxRangeStartW_impl_fntype, uint64_t (*)(const wchar_t*)>);
static_assert(std::is_same_v<nvtxRangePushEx_impl_fntype, int (*)(const nvtxEventAttributes_t*)>);
static_assert(std::is_same_v<nvtxRangePop_impl_fntype, int (*)()>);
static_assert(
    std::is_same_v<nvtxDomainRangeStartEx_impl_fntype, uint64_t (*)(nvtxDomainHandle_t, const nvtxEventAttributes_t*)>);
static_assert(std::is_same_v<nvtxDomainRangeEnd_impl_fntype, void (*)(nvtxDomainHandle_t, uint64_t)>);
static_assert(std::is_same_v<nvtxDomainRangePop_impl_fntype, int (*)(nvtxDomainHandle_t)>);
static_assert(
    std::is_same_v<nvtxDomainRegisterStringA_impl_fntype, nvtxStringHandle_t (*)(nvtxDomainHandle_t, const char*)>);
static_assert(std::is_same_v<nvtxDomainCreateW_impl_fntype, nvtxDomainHandle_t (*)(const wchar_t*)>);
static_assert(std::is_pointer_v<nvtxDomainHandle_t> && std::is_pointer_v<nvtxStringHandle_t>);
