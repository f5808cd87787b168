// SPDX-License-Identifier: Apache-2.0
#include "shim/api/nvtx_names.h"
#include "shim/api/nvtx_types.h"
#include "shim/api/phases.h"
#include "shim/settings.h"

// NVTX RANGES AND MARKS AS PHASES. NVTX has room for one tool a process: NVTX_INJECTION64_PATH names it. `vramtrace run`
// names us there unless somebody else is named already. (A preloaded library alone is not found: the NVTX headers look for
// a static injection only inside the object that contains them, under a hidden name.) What we do not set stays what it is
// without a tool: nothing.
namespace vramtrace::shim::nvtx {

namespace {

// As far as the program's struct reaches; an older or a foreign one is not read beyond its size.
void take(PhaseName& to, const Registered* domain, const Attributes* attributes) {
    const bool readable = attributes != nullptr && attributes->size >= sizeof(Attributes);
    take_message(to, domain, readable ? static_cast<MessageType>(attributes->message_type) : kMessageUnknown,
                 readable ? attributes->message : nullptr);
}

void domain_mark_ex(const Registered* domain, const Attributes* attributes) {
    PhaseName name;
    take(name, domain, attributes);
    mark(name, domain_number(domain), Origin::Nvtx);
}
uint64_t domain_range_start_ex(const Registered* domain, const Attributes* attributes) {
    PhaseName name;
    take(name, domain, attributes);
    const uint64_t id = new_range_id();
    begin_range(name, id, domain_number(domain), Origin::Nvtx);
    return id;
}
void domain_range_end(const Registered* domain, uint64_t id) {
    if (id != 0) end_range(id, domain_number(domain), Origin::Nvtx);
}
int domain_range_push_ex(const Registered* domain, const Attributes* attributes) {
    PhaseName name;
    take(name, domain, attributes);
    begin_range(name, 0, domain_number(domain), Origin::Nvtx);
    return kNoPushPopTracking;
}
int domain_range_pop(const Registered* domain) {
    end_range(0, domain_number(domain), Origin::Nvtx);
    return kNoPushPopTracking;
}

const Registered* register_string_a(const Registered*, const char* text) {
    return register_name(text);
}
const Registered* register_string_w(const Registered*, const wchar_t* text) {
    return register_name(text);
}
const Registered* domain_create_a(const char* name) {
    return register_name(name);
}
const Registered* domain_create_w(const wchar_t* name) {
    return register_name(name);
}

void mark_ex(const Attributes* attributes) {
    domain_mark_ex(nullptr, attributes);
}
uint64_t range_start_ex(const Attributes* attributes) {
    return domain_range_start_ex(nullptr, attributes);
}
void range_end(uint64_t id) {
    domain_range_end(nullptr, id);
}
int range_push_ex(const Attributes* attributes) {
    return domain_range_push_ex(nullptr, attributes);
}
int range_pop() {
    return domain_range_pop(nullptr);
}

template <typename Character>
PhaseName name_of(const Character* message) {
    PhaseName name;
    take_message(name, nullptr, sizeof(Character) == 1 ? kMessageAscii : kMessageWide, message);
    return name;
}
template <typename Character>
void mark_text(const Character* message) {
    mark(name_of(message), 0, Origin::Nvtx);
}
template <typename Character>
uint64_t range_start_text(const Character* message) {
    const uint64_t id = new_range_id();
    begin_range(name_of(message), id, 0, Origin::Nvtx);
    return id;
}
template <typename Character>
int range_push_text(const Character* message) {
    begin_range(name_of(message), 0, 0, Origin::Nvtx);
    return kNoPushPopTracking;
}

struct Row {
    unsigned id;
    Function function;
};

template <typename F>
Function plain(F* function) {
    return reinterpret_cast<Function>(function);
}

bool attach(const CallbackTable& table, Module module, const Row* rows, size_t count) {
    Slots slots = nullptr;
    unsigned known = 0;
    if (table.get_module(module, &slots, &known) == 0 || slots == nullptr) return false;
    for (size_t i = 0; i < count; ++i) {
        if (rows[i].id < known && slots[rows[i].id] != nullptr) *slots[rows[i].id] = rows[i].function;
    }
    return true;
}

bool attach_all(const CallbackTable& table) {
    const Row core[] = {
        {kMarkEx, plain(mark_ex)},
        {kMarkA, plain(mark_text<char>)},
        {kMarkW, plain(mark_text<wchar_t>)},
        {kRangeStartEx, plain(range_start_ex)},
        {kRangeStartA, plain(range_start_text<char>)},
        {kRangeStartW, plain(range_start_text<wchar_t>)},
        {kRangeEnd, plain(range_end)},
        {kRangePushEx, plain(range_push_ex)},
        {kRangePushA, plain(range_push_text<char>)},
        {kRangePushW, plain(range_push_text<wchar_t>)},
        {kRangePop, plain(range_pop)},
    };
    const Row core2[] = {
        {kDomainMarkEx, plain(domain_mark_ex)},
        {kDomainRangeStartEx, plain(domain_range_start_ex)},
        {kDomainRangeEnd, plain(domain_range_end)},
        {kDomainRangePushEx, plain(domain_range_push_ex)},
        {kDomainRangePop, plain(domain_range_pop)},
        {kDomainRegisterStringA, plain(register_string_a)},
        {kDomainRegisterStringW, plain(register_string_w)},
        {kDomainCreateA, plain(domain_create_a)},
        {kDomainCreateW, plain(domain_create_w)},
    };
    return attach(table, kCore, core, sizeof core / sizeof *core) &&
           attach(table, kCore2, core2, sizeof core2 / sizeof *core2);
}

}  // namespace

}  // namespace vramtrace::shim::nvtx

// Called by each copy of NVTX in the process, once. 0: we do not want to be the tool; then NVTX does nothing at all.
extern "C" [[gnu::visibility("default")]] int InitializeInjectionNvtx2(vramtrace::shim::nvtx::GetTable get_table) {
    using namespace vramtrace::shim;
    using namespace vramtrace::shim::nvtx;
    const Settings* given = settings();
    if (get_table == nullptr || given == nullptr || given->disable) return 0;
    const auto* callbacks = static_cast<const CallbackTable*>(get_table(kCallbacks));
    if (callbacks == nullptr || callbacks->struct_size < sizeof(CallbackTable) || callbacks->get_module == nullptr)
        return 0;
    const auto* version = static_cast<const VersionTable*>(get_table(kVersionInfo));
    if (version != nullptr && version->struct_size >= sizeof(VersionTable) && version->set_injection_version != nullptr)
        version->set_injection_version(kVersion);
    return attach_all(*callbacks) ? 1 : 0;
}
