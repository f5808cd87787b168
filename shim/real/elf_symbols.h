// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <elf.h>
#include <link.h>

#include <cstddef>
#include <cstdint>

// The objects that are loaded into this process and the symbols they define, without dlopen, dlsym, dlerror or the
// job's heap. Everything here runs on cold paths only (first use of a function).
namespace vramtrace::shim {

uint32_t gnu_hash_of(const char* name);
const char* file_name_of(const char* path);

// What is needed of one loaded object. Pointers stay valid while the loader's lock is held (with_loaded_objects).
struct LoadedObject {
    uintptr_t bias = 0;
    uintptr_t start = 0, end = 0;  // lowest and one past the highest mapped address
    const ElfW(Dyn) * dynamic = nullptr;
    const char* path = "";  // as the loader knows it; "" for the program itself
    const ElfW(Phdr) * headers = nullptr;
    unsigned header_count = 0;
    // Of its DT_SONAME (0 if none) and of the last part of its path: a DT_NEEDED is compared with hundreds of objects.
    uint32_t soname_hash = 0, file_name_hash = 0;

    bool contains(const void* address) const {
        const auto value = reinterpret_cast<uintptr_t>(address);
        return value >= start && value < end;
    }
};

// The dynamic section, decoded.
class DynamicTables {
public:
    explicit DynamicTables(const LoadedObject& object);

    // Address of the function or object `name` that this object defines, as a look-up that wants `version` (nullptr: the
    // default one) would find it; nullptr if it defines none.
    void* find(const char* name, const char* version = nullptr) const;
    // The same for a variable (a vtable is one): its address and size, or nullptr.
    const void* find_data(const char* name, size_t& bytes) const;
    // Index in the symbol table of the object's own reference to `name`, 0 if it makes none.
    unsigned mention(const char* name) const;
    // Version that the object's own reference to symbol `index` asks for, or nullptr.
    const char* wanted_version(unsigned index) const;
    const char* soname() const { return soname_; }  // nullptr if there is none
    // The n-th DT_NEEDED, or nullptr after the last.
    const char* needed(unsigned n) const;

    struct Relocation {
        const char* symbol;
        const void* slot;  // the GOT entry
    };
    // Calls visit(relocation) for every GOT entry bound to a named symbol.
    template <typename Visit>
    void for_each_bound_slot(Visit visit) const {
        for_relocations(plt_relocations_, plt_relocation_bytes_, visit);
        for_relocations(relocations_, relocation_bytes_, visit);
    }

private:
    template <typename Visit>
    void for_relocations(const ElfW(Rela) * first, size_t bytes, Visit visit) const {
        if (first == nullptr || symbols_ == nullptr || strings_ == nullptr) return;
        for (size_t i = 0; i < bytes / sizeof *first; ++i) {
            const auto type = ELF64_R_TYPE(first[i].r_info);
            if (type != R_X86_64_JUMP_SLOT && type != R_X86_64_GLOB_DAT) continue;
            const char* symbol = strings_ + symbols_[ELF64_R_SYM(first[i].r_info)].st_name;
            visit(Relocation{symbol, reinterpret_cast<const void*>(object_.bias + first[i].r_offset)});
        }
    }
    const void* absolute(uintptr_t value) const;
    enum class Sort : bool { Function, Data };
    unsigned index_of(const char* name, const char* version, Sort sort) const;  // 0: none
    bool matches(unsigned index, const char* name, const char* version, Sort sort) const;
    const char* defined_version(unsigned version_index) const;
    void* address_of(unsigned index) const;

    const LoadedObject& object_;
    const ElfW(Sym) * symbols_ = nullptr;
    const char* strings_ = nullptr;
    const uint32_t* gnu_hash_ = nullptr;
    const uint32_t* hash_ = nullptr;
    const ElfW(Half) * versions_ = nullptr;
    const ElfW(Verdef) * definitions_ = nullptr;
    const ElfW(Verneed) * requirements_ = nullptr;
    const ElfW(Rela) * relocations_ = nullptr;
    const ElfW(Rela) * plt_relocations_ = nullptr;
    size_t relocation_bytes_ = 0, plt_relocation_bytes_ = 0;
    const char* soname_ = nullptr;
};

// All objects of our namespace in the order in which they were loaded.
struct LoadedObjects {
    const LoadedObject* begin_ = nullptr;
    size_t count = 0;
    const LoadedObject* begin() const { return begin_; }
    const LoadedObject* end() const { return begin_ + count; }
    const LoadedObject* containing(const void* address) const {
        for (const auto& object : *this)
            if (object.contains(address)) return &object;
        return nullptr;
    }
};

// Calls work(objects, context) while no object can be loaded or unloaded (the loader's list lock, which is recursive and
// held by dlopen and dlclose only while they change the list, never while code of the job runs).
void with_loaded_objects(void (*work)(const LoadedObjects&, void*), void* context);

template <typename Work>
void with_loaded_objects(Work work) {
    with_loaded_objects([](const LoadedObjects& objects, void* context) { (*static_cast<Work*>(context))(objects); },
                        &work);
}

}  // namespace vramtrace::shim
