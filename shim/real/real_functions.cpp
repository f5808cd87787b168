// SPDX-License-Identifier: Apache-2.0
#include "shim/real/real_functions.h"

#include <string.h>
#include <sys/mman.h>

#include "shim/real/elf_symbols.h"
#include "shim/real/link_scope.h"

namespace vramtrace::shim {

namespace {

uint32_t bucket_of(const void* function) {
    return static_cast<uint32_t>((reinterpret_cast<uintptr_t>(function) * 0x9E3779B97F4A7C15ULL) >> 54);
}
static_assert(LibraryImage::kBuckets == 1U << (64 - 54));

template <typename Function>
void take(const DynamicTables& tables, const char* name, Function*& function) {
    function = reinterpret_cast<Function*>(tables.find(name));
}

void take_calls(const DynamicTables& tables, DriverCalls& calls) {
    take(tables, "cuCtxGetCurrent", calls.ctx_get_current);
    take(tables, "cuCtxGetDevice", calls.ctx_get_device);
    take(tables, "cuMemGetInfo_v2", calls.mem_get_info);
    take(tables, "cuDeviceGetName", calls.device_get_name);
    take(tables, "cuDeviceGetUuid", calls.device_get_uuid);
    take(tables, "cuDeviceGetUuid_v2", calls.device_get_uuid_mig);
    take(tables, "cuDeviceTotalMem_v2", calls.device_total_mem);
    take(tables, "cuDriverGetVersion", calls.driver_get_version);
    take(tables, "cuPointerGetAttribute", calls.pointer_get_attribute);
    take(tables, "cuMemGetAddressRange_v2", calls.mem_get_address_range);
    take(tables, "cuDeviceGetMemPool", calls.device_get_mem_pool);
    take(tables, "cuMemPoolGetAttribute", calls.pool_get_attribute);
    take(tables, "cuStreamIsCapturing", calls.stream_is_capturing);
    take(tables, "cuStreamIsCapturing_ptsz", calls.stream_is_capturing_ptsz);
    take(tables, "cuStreamGetCaptureInfo_v2", calls.stream_get_capture_info);
    take(tables, "cuStreamGetCaptureInfo_v2_ptsz", calls.stream_get_capture_info_ptsz);
}

LibraryImage* build(const LoadedObject& object, const char* const* names, uint32_t count) {
    void* memory = mmap(nullptr, sizeof(LibraryImage), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED || count > LibraryImage::kMaxFunctions) return nullptr;
    auto* image = static_cast<LibraryImage*>(memory);  // all zero
    image->start = object.start;
    image->end = object.end;
    image->count = count;
    strncpy(image->path, object.path, sizeof image->path - 1);
    const DynamicTables tables(object);
    take_calls(tables, image->calls);
    for (uint32_t place = 0; place < count; ++place) {
        void* function = tables.find(names[place]);
        image->functions[place] = function;
        if (function == nullptr || image->place_of(function) >= 0) continue;  // two names of one function: the first
        uint32_t bucket = bucket_of(function);
        while (image->places[bucket] != 0) bucket = (bucket + 1) % LibraryImage::kBuckets;
        image->places[bucket] = static_cast<uint16_t>(place + 1);
    }
    return image;
}

// An object of another namespace (dlmopen), which the loader's list does not show: asks the loader itself.
bool object_by_address(const void* address, LoadedObject& object, ElfW(Phdr) (&headers)[16]) {
    using Dladdr1 = int (*)(const void*, void*, void**, int);
    const auto dladdr1 = reinterpret_cast<Dladdr1>(next_in_scope("dladdr1"));
    if (dladdr1 == nullptr) return false;
    struct {
        const char* file;
        void* base;
        const char* symbol;
        void* symbol_address;
    } info = {};
    constexpr int kLinkMap = 2;  // RTLD_DL_LINKMAP
    link_map* map = nullptr;
    if (dladdr1(address, &info, reinterpret_cast<void**>(&map), kLinkMap) == 0 || map == nullptr) return false;
    const auto* header = static_cast<const ElfW(Ehdr)*>(info.base);
    if (header == nullptr || memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 || header->e_phnum > 16) return false;
    memcpy(headers, reinterpret_cast<const char*>(header) + header->e_phoff, header->e_phnum * sizeof *headers);
    object.bias = map->l_addr;
    object.dynamic = map->l_ld;
    object.path = map->l_name != nullptr ? map->l_name : "";
    object.start = UINTPTR_MAX;
    for (unsigned i = 0; i < header->e_phnum; ++i) {
        if (headers[i].p_type != PT_LOAD) continue;
        const uintptr_t begin = object.bias + headers[i].p_vaddr;
        if (begin < object.start) object.start = begin;
        if (begin + headers[i].p_memsz > object.end) object.end = begin + headers[i].p_memsz;
    }
    return object.contains(address);
}

}  // namespace

int LibraryImage::place_of(const void* function) const {
    for (uint32_t bucket = bucket_of(function); places[bucket] != 0; bucket = (bucket + 1) % kBuckets)
        if (functions[places[bucket] - 1] == function) return places[bucket] - 1;
    return -1;
}

LibraryImage* build_image(const void* address, const char* const* names, uint32_t count) {
    LibraryImage* image = nullptr;
    bool found = false;
    with_loaded_objects([&](const LoadedObjects& all) {
        const LoadedObject* object = all.containing(address);
        found = object != nullptr;
        if (found && !is_ours(object->dynamic)) image = build(*object, names, count);
    });
    if (found) return image;
    LoadedObject object;
    ElfW(Phdr) headers[16];
    if (!object_by_address(address, object, headers)) return nullptr;
    image = build(object, names, count);
    if (image != nullptr) image->other_namespace = true;
    return image;
}

LibraryImage* build_driver_image(const char* const* names, uint32_t count) {
    LibraryImage* image = nullptr;
    with_loaded_objects([&](const LoadedObjects& all) {
        const uint32_t hash = gnu_hash_of("libcuda.so.1");
        for (const auto& object : all)
            if (image == nullptr && (object.soname_hash == hash || object.file_name_hash == hash))
                image = build(object, names, count);
    });
    return image;
}

void discard_image(LibraryImage* image) {
    if (image != nullptr) munmap(image, sizeof *image);
}

bool still_loaded(const LibraryImage& image, const char* const* names) {
    uint32_t place = 0;
    while (place < image.count && image.functions[place] == nullptr) ++place;
    if (place == image.count) return false;
    bool same = image.other_namespace;
    with_loaded_objects([&](const LoadedObjects& all) {
        const LoadedObject* object = all.containing(image.functions[place]);
        if (object == nullptr) return;
        same = object->start == image.start && object->end == image.end &&
               DynamicTables(*object).find(names[place]) == image.functions[place];
    });
    return same;
}

}  // namespace vramtrace::shim
