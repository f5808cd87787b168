// SPDX-License-Identifier: Apache-2.0
#include "shim/real/elf_symbols.h"

#include <string.h>
#include <sys/mman.h>

namespace vramtrace::shim {

uint32_t gnu_hash_of(const char* name) {
    uint32_t hash = 5381;
    for (; *name != '\0'; ++name) hash = hash * 33 + static_cast<unsigned char>(*name);
    return hash;
}

const char* file_name_of(const char* path) {
    const char* slash = strrchr(path, '/');
    return slash != nullptr ? slash + 1 : path;
}

namespace {

constexpr ElfW(Half) kHidden = 0x8000;
constexpr ElfW(Half) kVersionMask = 0x7fff;
constexpr size_t kMaxObjects = 8192;

struct Collected {
    LoadedObject* objects;
    size_t count;
};

int collect(dl_phdr_info* info, size_t, void* context) {
    auto& collected = *static_cast<Collected*>(context);
    if (collected.count == kMaxObjects) return 1;
    LoadedObject object;
    object.bias = info->dlpi_addr;
    object.path = info->dlpi_name != nullptr ? info->dlpi_name : "";
    object.headers = info->dlpi_phdr;
    object.header_count = info->dlpi_phnum;
    object.start = UINTPTR_MAX;
    for (unsigned i = 0; i < info->dlpi_phnum; ++i) {
        const auto& header = info->dlpi_phdr[i];
        const uintptr_t begin = object.bias + header.p_vaddr;
        if (header.p_type == PT_DYNAMIC) object.dynamic = reinterpret_cast<const ElfW(Dyn)*>(begin);
        if (header.p_type != PT_LOAD) continue;
        if (begin < object.start) object.start = begin;
        if (begin + header.p_memsz > object.end) object.end = begin + header.p_memsz;
    }
    if (object.dynamic == nullptr || object.start >= object.end) return 0;
    const char* soname = DynamicTables(object).soname();
    object.soname_hash = soname != nullptr ? gnu_hash_of(soname) : 0;
    object.file_name_hash = gnu_hash_of(file_name_of(object.path));
    collected.objects[collected.count++] = object;
    return 0;
}

struct Outer {
    void (*work)(const LoadedObjects&, void*);
    void* context;
    Collected collected;
};

// Runs inside one dl_iterate_phdr, and so with its (recursive) lock held, from collecting to the end of the work.
int under_the_lock(dl_phdr_info*, size_t, void* context) {
    auto& outer = *static_cast<Outer*>(context);
    dl_iterate_phdr(collect, &outer.collected);
    outer.work({outer.collected.objects, outer.collected.count}, outer.context);
    return 1;
}

}  // namespace

void with_loaded_objects(void (*work)(const LoadedObjects&, void*), void* context) {
    // Not on the stack: a job's threads may have 16 KiB of it. Not the heap: it may be the one that called us.
    constexpr size_t kBytes = kMaxObjects * sizeof(LoadedObject);
    void* memory = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) {
        work({}, context);
        return;
    }
    Outer outer{work, context, {static_cast<LoadedObject*>(memory), 0}};
    dl_iterate_phdr(under_the_lock, &outer);
    munmap(memory, kBytes);
}

DynamicTables::DynamicTables(const LoadedObject& object) : object_(object) {
    uintptr_t soname = 0;
    for (const auto* entry = object.dynamic; entry != nullptr && entry->d_tag != DT_NULL; ++entry) {
        const void* pointer = absolute(entry->d_un.d_ptr);
        switch (entry->d_tag) {
            case DT_SYMTAB:
                symbols_ = static_cast<const ElfW(Sym)*>(pointer);
                break;
            case DT_STRTAB:
                strings_ = static_cast<const char*>(pointer);
                break;
            case DT_GNU_HASH:
                gnu_hash_ = static_cast<const uint32_t*>(pointer);
                break;
            case DT_HASH:
                hash_ = static_cast<const uint32_t*>(pointer);
                break;
            case DT_VERSYM:
                versions_ = static_cast<const ElfW(Half)*>(pointer);
                break;
            case DT_VERDEF:
                definitions_ = static_cast<const ElfW(Verdef)*>(pointer);
                break;
            case DT_VERNEED:
                requirements_ = static_cast<const ElfW(Verneed)*>(pointer);
                break;
            case DT_RELA:
                relocations_ = static_cast<const ElfW(Rela)*>(pointer);
                break;
            case DT_RELASZ:
                relocation_bytes_ = entry->d_un.d_val;
                break;
            case DT_JMPREL:
                plt_relocations_ = static_cast<const ElfW(Rela)*>(pointer);
                break;
            case DT_PLTRELSZ:
                plt_relocation_bytes_ = entry->d_un.d_val;
                break;
            case DT_SONAME:
                soname = entry->d_un.d_val;
                break;
            default:
                break;
        }
    }
    if (strings_ != nullptr && soname != 0) soname_ = strings_ + soname;
}

// glibc rewrites some of these entries to absolute addresses and leaves others as offsets; an address inside the object
// can only be one that was rewritten.
const void* DynamicTables::absolute(uintptr_t value) const {
    const bool rewritten = value >= object_.start && value < object_.end;
    return reinterpret_cast<const void*>(rewritten ? value : object_.bias + value);
}

const char* DynamicTables::needed(unsigned n) const {
    if (strings_ == nullptr) return nullptr;
    for (const auto* entry = object_.dynamic; entry != nullptr && entry->d_tag != DT_NULL; ++entry)
        if (entry->d_tag == DT_NEEDED && n-- == 0) return strings_ + entry->d_un.d_val;
    return nullptr;
}

const char* DynamicTables::defined_version(unsigned version_index) const {
    const auto* definition = definitions_;
    while (definition != nullptr) {
        const auto* bytes = reinterpret_cast<const char*>(definition);
        if (definition->vd_ndx == version_index)
            return strings_ + reinterpret_cast<const ElfW(Verdaux)*>(bytes + definition->vd_aux)->vda_name;
        if (definition->vd_next == 0) break;
        definition = reinterpret_cast<const ElfW(Verdef)*>(bytes + definition->vd_next);
    }
    return nullptr;
}

const char* DynamicTables::wanted_version(unsigned index) const {
    if (versions_ == nullptr || index == 0) return nullptr;
    const unsigned wanted = versions_[index] & kVersionMask;
    if (wanted <= VER_NDX_GLOBAL) return nullptr;
    if (symbols_[index].st_shndx != SHN_UNDEF) return defined_version(wanted);
    const auto* requirement = requirements_;
    while (requirement != nullptr) {
        const auto* bytes = reinterpret_cast<const char*>(requirement);
        const auto* entry = reinterpret_cast<const ElfW(Vernaux)*>(bytes + requirement->vn_aux);
        for (unsigned i = 0; i < requirement->vn_cnt; ++i) {
            if ((entry->vna_other & kVersionMask) == wanted) return strings_ + entry->vna_name;
            entry = reinterpret_cast<const ElfW(Vernaux)*>(reinterpret_cast<const char*>(entry) + entry->vna_next);
        }
        if (requirement->vn_next == 0) break;
        requirement = reinterpret_cast<const ElfW(Verneed)*>(bytes + requirement->vn_next);
    }
    return nullptr;
}

bool DynamicTables::matches(unsigned index, const char* name, const char* version, Sort sort) const {
    const auto& symbol = symbols_[index];
    if (symbol.st_shndx == SHN_UNDEF || strcmp(strings_ + symbol.st_name, name) != 0) return false;
    const auto type = ELF64_ST_TYPE(symbol.st_info);
    const bool callable = type == STT_FUNC || type == STT_GNU_IFUNC || type == STT_NOTYPE;
    const bool wanted = sort == Sort::Function ? callable : type == STT_OBJECT;
    if (!wanted || ELF64_ST_BIND(symbol.st_info) == STB_LOCAL) return false;
    if (versions_ == nullptr) return true;  // an object without versions satisfies every request
    const auto given = versions_[index];
    if (version == nullptr) return (given & kHidden) == 0;
    const char* defined = defined_version(given & kVersionMask);
    return (given & kVersionMask) <= VER_NDX_GLOBAL || (defined != nullptr && strcmp(defined, version) == 0);
}

void* DynamicTables::address_of(unsigned index) const {
    const uintptr_t address = object_.bias + symbols_[index].st_value;
    if (ELF64_ST_TYPE(symbols_[index].st_info) != STT_GNU_IFUNC) return reinterpret_cast<void*>(address);
    return reinterpret_cast<void* (*)()>(address)();
}

unsigned DynamicTables::index_of(const char* name, const char* version, Sort sort) const {
    if (symbols_ == nullptr || strings_ == nullptr) return 0;
    if (gnu_hash_ != nullptr) {
        const uint32_t buckets = gnu_hash_[0], first = gnu_hash_[1], words = gnu_hash_[2], shift = gnu_hash_[3];
        if (buckets == 0 || words == 0) return 0;
        const auto* bloom = reinterpret_cast<const uint64_t*>(gnu_hash_ + 4);
        const auto* bucket = reinterpret_cast<const uint32_t*>(bloom + words);
        const auto* chain = bucket + buckets;
        const uint32_t hash = gnu_hash_of(name);
        const uint64_t bits = (1ULL << (hash % 64)) | (1ULL << ((hash >> shift) % 64));
        if ((bloom[(hash / 64) % words] & bits) != bits) return 0;
        uint32_t index = bucket[hash % buckets];
        if (index < first) return 0;
        for (;; ++index) {
            const uint32_t entry = chain[index - first];
            if (((entry ^ hash) >> 1) == 0 && matches(index, name, version, sort)) return index;
            if ((entry & 1) != 0) return 0;
        }
    }
    if (hash_ == nullptr) return 0;
    for (uint32_t index = 1; index < hash_[1]; ++index)
        if (matches(index, name, version, sort)) return index;
    return 0;
}

void* DynamicTables::find(const char* name, const char* version) const {
    const unsigned index = index_of(name, version, Sort::Function);
    return index != 0 ? address_of(index) : nullptr;
}

const void* DynamicTables::find_data(const char* name, size_t& bytes) const {
    const unsigned index = index_of(name, nullptr, Sort::Data);
    if (index == 0) return nullptr;
    bytes = symbols_[index].st_size;
    return reinterpret_cast<const void*>(object_.bias + symbols_[index].st_value);
}

// By the relocations, because a symbol table's length is written nowhere when nothing in it is hashed.
unsigned DynamicTables::mention(const char* name) const {
    if (symbols_ == nullptr || strings_ == nullptr) return 0;
    const auto search = [&](const ElfW(Rela) * first, size_t bytes) -> unsigned {
        if (first == nullptr) return 0;
        for (size_t i = 0; i < bytes / sizeof *first; ++i) {
            const auto index = static_cast<unsigned>(ELF64_R_SYM(first[i].r_info));
            if (index != 0 && strcmp(strings_ + symbols_[index].st_name, name) == 0) return index;
        }
        return 0;
    };
    const unsigned index = search(plt_relocations_, plt_relocation_bytes_);
    return index != 0 ? index : search(relocations_, relocation_bytes_);
}

}  // namespace vramtrace::shim
