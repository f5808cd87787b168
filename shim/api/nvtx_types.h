// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

// THE BINARY INTERFACE BETWEEN A PROGRAM'S NVTX AND AN INJECTION LIBRARY, version 3 (and 2, which is a subset), as the
// public NVTX headers lay it down. tests/drift/nvtx_against_headers.cpp compares every number here with them.
//
//   program's copy of NVTX ── first NVTX call ──► dlopen(NVTX_INJECTION64_PATH), InitializeInjectionNvtx2(get_table)
//        │                                            get_table(kCallbacks)->get_module(module, &slots, &count)
//        └── every call ──► *slots[id], which we set  ◄── *slots[id] = our function
//
// Each shared object compiled with NVTX has a copy of its own and asks by itself.
namespace vramtrace::shim::nvtx {

using Function = void (*)();
using Slots = Function**;  // slots[id] points at the pointer that the program calls through

constexpr uint32_t kCallbacks = 1;  // export tables
constexpr uint32_t kVersionInfo = 3;
constexpr uint32_t kVersion = 3;

enum Module : int { kCore = 1, kCore2 = 5 };

struct CallbackTable {
    size_t struct_size;
    int (*get_module)(Module module, Slots* slots, unsigned* count);
};

struct VersionTable {
    size_t struct_size;
    uint32_t version;
    uint32_t reserved;
    void (*set_injection_version)(uint32_t version);
};

using GetTable = const void* (*)(uint32_t table);

enum CoreId : unsigned {
    kMarkEx = 1,
    kMarkA,
    kMarkW,
    kRangeStartEx,
    kRangeStartA,
    kRangeStartW,
    kRangeEnd,
    kRangePushEx,
    kRangePushA,
    kRangePushW,
    kRangePop,
};

enum Core2Id : unsigned {
    kDomainMarkEx = 1,
    kDomainRangeStartEx,
    kDomainRangeEnd,
    kDomainRangePushEx,
    kDomainRangePop,
    kDomainRegisterStringA = 10,
    kDomainRegisterStringW,
    kDomainCreateA,
    kDomainCreateW,
    kDomainDestroy,
};

enum MessageType : int32_t { kMessageUnknown = 0, kMessageAscii = 1, kMessageWide = 2, kMessageRegistered = 3 };

struct Attributes {
    uint16_t version;
    uint16_t size;  // of the struct, as the program knows it
    uint32_t category;
    int32_t color_type;
    uint32_t color;
    int32_t payload_type;
    int32_t reserved;
    uint64_t payload;
    int32_t message_type;
    const void* message;  // const char*, const wchar_t* or a string that was registered
};

// What push and pop answer when nobody keeps count; the program sees the same without us.
constexpr int kNoPushPopTracking = -2;

}  // namespace vramtrace::shim::nvtx
