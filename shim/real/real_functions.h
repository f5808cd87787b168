// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "shim/real/cuda_types.h"

// One loaded library whose functions we stand in front of: a driver or a runtime, found by an address in it. Functions
// are known by their place in a table of names that the caller gives; nothing here knows what they mean.
namespace vramtrace::shim {

// The driver functions that we call ourselves, all safe while a stream is captured, except pool_get_attribute
// (hooks/captures.h says when). Any may be nullptr in an old driver.
struct DriverCalls {
    Result (*ctx_get_current)(Handle* context);
    Result (*ctx_get_device)(Ordinal* device);
    Result (*mem_get_info)(size_t* free_bytes, size_t* total_bytes);
    Result (*device_get_name)(char* name, int bytes, Ordinal device);
    Result (*device_get_uuid)(char uuid[16], Ordinal device);
    Result (*device_get_uuid_mig)(char uuid[16], Ordinal device);  // tells parts of a partitioned device apart
    Result (*device_total_mem)(size_t* bytes, Ordinal device);
    Result (*driver_get_version)(int* version);
    Result (*pointer_get_attribute)(void* data, Enum attribute, DevicePointer address);
    Result (*mem_get_address_range)(DevicePointer* base, size_t* bytes, DevicePointer address);
    Result (*device_get_mem_pool)(Handle* pool, Ordinal device);
    Result (*pool_get_attribute)(Handle pool, Enum attribute, void* value);
    Result (*stream_is_capturing)(Handle stream, Enum* status);
    Result (*stream_is_capturing_ptsz)(Handle stream, Enum* status);
    Result (*stream_get_capture_info)(Handle stream, Enum* status, uint64_t* id, Handle* graph, const Handle** nodes,
                                      size_t* node_count);
    Result (*stream_get_capture_info_ptsz)(Handle stream, Enum* status, uint64_t* id, Handle* graph,
                                           const Handle** nodes, size_t* node_count);
};

// Immutable once built, never freed: wrappers that a program was handed point to it.
struct LibraryImage {
    uintptr_t start, end;
    uint32_t count;
    bool other_namespace;  // loaded by dlmopen: not in the loader's list that we can walk
    DriverCalls calls;
    char path[256];
    // Open-addressed hash from a function's address to its place in the table; 0 = empty, else place + 1.
    static constexpr uint32_t kBuckets = 1024;
    uint16_t places[kBuckets];
    static constexpr uint32_t kMaxFunctions = 256;
    void* functions[kMaxFunctions];  // the first `count`; nullptr where the library has no such function

    // Place of `function`, or -1.
    int place_of(const void* function) const;
};

// The library that contains `address` (in any namespace), with those of `names` that it exports. nullptr if there is no
// such object. Memory comes from mmap.
LibraryImage* build_image(const void* address, const char* const* names, uint32_t count);
// The loaded object called libcuda.so.1, for callers whose own definition came from elsewhere (another preload).
LibraryImage* build_driver_image(const char* const* names, uint32_t count);
void discard_image(LibraryImage* image);

// False if the object of `image` is gone, or another one or another load of it stands in its place.
bool still_loaded(const LibraryImage& image, const char* const* names);

}  // namespace vramtrace::shim
