// SPDX-License-Identifier: Apache-2.0
#include "shim/capture/modules.h"

#include <sys/auxv.h>

#include <cstring>

#include "shim/arena.h"
#include "shim/capture/maps_reader.h"
#include "shim/capture/safe_memory.h"
#include "trace/ring/definition_table.h"

namespace vramtrace::shim {
namespace {

constexpr size_t kLineBuffer = 32768;
constexpr size_t kPathBuffer = 4096 + 64;
constexpr size_t kPoolPiece = 65536;
constexpr uintptr_t kUserEnd = 1ULL << 47;
constexpr char kDeleted[] = " (deleted)";
constexpr char kVdso[] = "[vdso]";

struct Text {
    const char* bytes;
    size_t size;
    bool operator==(const Text& other) const {
        return size == other.size && (size == 0 || memcmp(bytes, other.bytes, size) == 0);
    }
};

// A file that was replaced while it is mapped is found again by its build-id; the kernel's remark is no part of its name.
Text without_remark(const char* name, size_t bytes) {
    constexpr size_t remark = sizeof(kDeleted) - 1;
    if (bytes > remark && memcmp(name + bytes - remark, kDeleted, remark) == 0) bytes -= remark;
    return {name, bytes};
}

uint64_t mix(uint64_t hash, const unsigned char* bytes, size_t size) {
    for (size_t i = 0; i < size; ++i) hash = (hash ^ bytes[i]) * 0x100000001b3ULL;
    return hash;
}

// Tells two files apart that were mapped at the same place: ELF header, and build-id or the head of the unwind table.
// 0: could not be read.
uint64_t fingerprint_of(const Module& module) {
    unsigned char bytes[64];
    uint64_t hash = 0xcbf29ce484222325ULL;
    if (!safe_copy(bytes, module.start, sizeof(bytes))) return 0;
    hash = mix(hash, bytes, sizeof(bytes));
    if (module.image.build_id_bytes > 0) {
        if (!safe_copy(bytes, module.image.build_id, module.image.build_id_bytes)) return 0;
        hash = mix(hash, bytes, module.image.build_id_bytes);
    } else {
        for (size_t at = 0; at + sizeof(bytes) <= module.image.eh_frame_header_bytes && at < 4096;
             at += sizeof(bytes)) {
            if (!safe_copy(bytes, module.image.eh_frame_header + at, sizeof(bytes))) return 0;
            hash = mix(hash, bytes, sizeof(bytes));
        }
    }
    return hash | 1;
}

}  // namespace

// Neighbouring mappings of one file, or one stretch of generated code.
struct ModuleList::Group {
    Text path{nullptr, 0};
    uintptr_t start = 0, end = 0;
    uintptr_t text_start = 0, text_end = 0;
    uint64_t device = 0, inode = 0;
    uint64_t last_offset = 0;
    bool starts_with_file = false;
    bool open = false;

    void begin(const Mapping& mapping, char* path_buffer) {
        *this = Group{};
        const Text name = without_remark(mapping.name, mapping.name_bytes);
        path.size = name.size < kPathBuffer ? name.size : kPathBuffer;
        memcpy(path_buffer, name.bytes, path.size);
        path.bytes = path_buffer;
        start = mapping.start;
        device = mapping.device;
        inode = mapping.inode;
        starts_with_file = mapping.offset == 0 && mapping.readable;
        open = true;
        extend(mapping);
    }
    void extend(const Mapping& mapping) {
        end = mapping.end;
        last_offset = mapping.offset;
        if (!mapping.executable) return;
        if (text_end == 0) text_start = mapping.start;
        text_end = mapping.end;
    }
    // Segments of one loaded file lie in the order of their offsets and not far apart. Some language runtimes map parts of
    // their own file a second time elsewhere; that is another group.
    bool continues_with(const Mapping& mapping) const {
        constexpr uintptr_t kLargestGap = 256UL << 20;
        return open && mapping.inode == inode && mapping.device == device && mapping.inode != 0 &&
               mapping.offset != 0 && mapping.offset >= last_offset && mapping.start - end <= kLargestGap;
    }
    bool is_same_place(const Module& module) const {
        return module.start == start && module.end == end && module.text_start == text_start &&
               module.text_end == text_end && module.device == device && module.inode == inode &&
               Text{module.path, module.path_bytes} == path;
    }
};

Module* ModuleList::find(uintptr_t pc) const {
    // acquire, pairs with the release in add(): entries below the count are complete.
    const uint32_t count = count_.load(std::memory_order_acquire);
    Module* modules = modules_.load(std::memory_order_acquire);
    if (modules == nullptr) return nullptr;
    // The newest first: should an old one be gone without our knowing, the code is the newer one's.
    for (uint32_t i = count; i-- > 0;) {
        if (modules[i].contains(pc) && !modules[i].gone.load(std::memory_order_acquire)) return &modules[i];
    }
    return nullptr;
}

bool ModuleList::allocate() {
    if (modules_.load(std::memory_order_relaxed) != nullptr) return true;
    if (line_buffer_ == nullptr) line_buffer_ = static_cast<char*>(arena_allocate(kLineBuffer));
    if (path_buffer_ == nullptr) path_buffer_ = static_cast<char*>(arena_allocate(kPathBuffer));
    auto* modules = static_cast<Module*>(arena_allocate(kMaxModules * sizeof(Module), alignof(Module)));
    if (line_buffer_ == nullptr || path_buffer_ == nullptr || modules == nullptr) return false;
    modules_.store(modules, std::memory_order_release);  // pairs with the acquire in find()
    return true;
}

const char* ModuleList::keep(const char* text, size_t bytes) {
    if (bytes > pool_left_) {
        pool_ = static_cast<char*>(arena_allocate(kPoolPiece));
        pool_left_ = pool_ == nullptr ? 0 : kPoolPiece;
        if (pool_ == nullptr) return nullptr;
    }
    char* kept = pool_;
    memcpy(kept, text, bytes);
    pool_ += bytes;
    pool_left_ -= bytes;
    return kept;
}

bool ModuleList::still_the_same(const Module& module) const {
    return module.fingerprint == 0 || fingerprint_of(module) == module.fingerprint;
}

void ModuleList::add(const Group& group, uint32_t generation, bool& changed) {
    if (!group.open || group.text_end == 0 || group.text_end > kUserEnd) return;
    Module* modules = modules_.load(std::memory_order_relaxed);
    const uint32_t count = count_.load(std::memory_order_relaxed);
    for (uint32_t i = count; i-- > 0;) {
        Module& known = modules[i];
        if (!group.is_same_place(known)) continue;
        if (!known.gone.load(std::memory_order_relaxed)) {
            known.last_seen = readings_;
            if (still_the_same(known)) return;
            known.gone.store(true, std::memory_order_release);
            changed = true;
        } else if (known.fingerprint != 0 && still_the_same(known)) {
            known.last_seen = readings_;
            known.gone.store(false, std::memory_order_release);
            return;
        }
    }
    if (count == kMaxModules) return;
    const char* path = keep(group.path.bytes, group.path.size);
    if (path == nullptr) return;
    Module& module = modules[count];
    module.start = group.start;
    module.end = group.end;
    module.text_start = group.text_start;
    module.text_end = group.text_end;
    module.device = group.device;
    module.inode = group.inode;
    module.path = path;
    module.path_bytes = static_cast<uint32_t>(group.path.size);
    module.generation = generation;
    module.starts_with_file = group.starts_with_file;
    module.last_seen = readings_;
    count_.store(count + 1, std::memory_order_release);  // pairs with the acquire in find()
}

bool ModuleList::read(uintptr_t pc, uint32_t generation, bool& changed) {
    if (!allocate()) return false;
    ++readings_;
    MapsReader reader(line_buffer_, kLineBuffer);
    Group file, generated;
    Mapping mapping;
    char generated_name[64];
    bool generated_found = false;
    while (reader.next(mapping)) {
        const bool vdso = Text{mapping.name, mapping.name_bytes} == Text{kVdso, sizeof(kVdso) - 1};
        if (mapping.inode == 0 && !vdso) {
            // Zero-filled memory may lie between the segments of a file. Of generated code only what is asked for is
            // kept: a just-in-time compiler may own thousands of such mappings.
            Module* known = mapping.executable ? find(mapping.start) : nullptr;
            if (known != nullptr && known->inode == 0 && known->start == mapping.start && known->end <= mapping.end) {
                known->last_seen = readings_;
            }
            const bool asked = mapping.executable && pc >= mapping.start && pc < mapping.end;
            if (asked && (known == nullptr || !known->contains(pc))) {
                if (mapping.name_bytes > sizeof(generated_name)) mapping.name_bytes = sizeof(generated_name);
                generated.begin(mapping, generated_name);
                generated_found = true;
            }
            continue;
        }
        if (file.continues_with(mapping)) {
            file.extend(mapping);
            continue;
        }
        add(file, generation, changed);
        file.begin(mapping, path_buffer_);
    }
    if (reader.failed()) return false;
    add(file, generation, changed);
    if (generated_found) {
        generated.starts_with_file = false;
        add(generated, generation, changed);
    }
    Module* modules = modules_.load(std::memory_order_relaxed);
    for (uint32_t i = 0; i < count_.load(std::memory_order_relaxed); ++i) {
        Module& module = modules[i];
        if (module.last_seen == readings_ || module.gone.load(std::memory_order_relaxed)) continue;
        module.gone.store(true, std::memory_order_release);  // pairs with the acquire in find()
        if (module.definition.load(std::memory_order_relaxed) != 0) changed = true;
    }
    return true;
}

bool ModuleList::resolve(Module& module, trace::DefinitionTable& definitions) {
    if (module.definition.load(std::memory_order_relaxed) != 0) return true;
    ElfImage image{};
    const bool elf = module.starts_with_file && read_elf_image(module.start, image);
    unsigned char build_id[64];
    if (!elf) {
        image = ElfImage{};
        image.bias = module.start;
        image.start = module.start;
        image.end = module.end;
    } else if (image.build_id_bytes > sizeof(build_id) || !safe_copy(build_id, image.build_id, image.build_id_bytes)) {
        image.build_id_bytes = 0;
    }
    module.image = image;
    module.generated = !elf;
    module.fingerprint = elf ? fingerprint_of(module) : 0;

    const auto here = reinterpret_cast<uintptr_t>(&fingerprint_of);
    const uintptr_t main_headers = getauxval(AT_PHDR);
    const bool main = elf && main_headers >= image.start && main_headers < image.end;
    module.own = module.contains(here) && !main;

    Text path{module.path, module.path_bytes};
    if (path.size == 0) path = {"[anonymous]", 11};
    trace::ModuleBody body;
    body.bias = image.bias;
    body.start = image.start;
    body.end = image.end;
    body.generation = module.generation;
    body.flags = static_cast<uint16_t>((elf ? 0 : trace::kModuleAnonymous) | (main ? trace::kModuleMain : 0) |
                                       (path == Text{kVdso, sizeof(kVdso) - 1} ? trace::kModuleVdso : 0));
    body.build_id_bytes = static_cast<uint16_t>(image.build_id_bytes);
    body.path_bytes = static_cast<uint32_t>(path.size);
    const trace::DefinitionId id =
        definitions.append(trace::DefinitionKind::Module,
                           {{&body, sizeof(body)}, {build_id, image.build_id_bytes}, {path.bytes, path.size}});
    if (id == 0) return false;
    module.definition.store(id, std::memory_order_release);  // pairs with the acquire of whoever uses `image`
    met_.fetch_add(1, std::memory_order_release);            // pairs with the acquire in met()
    return true;
}

}  // namespace vramtrace::shim
