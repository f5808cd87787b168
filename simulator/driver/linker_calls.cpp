// SPDX-License-Identifier: Apache-2.0
// The just-in-time linker: nothing is compiled; the "cubin" is what was added, end to end. Host memory only.
#include <string>

#include "simulator/driver/handles.h"
#include "simulator/driver/module_objects.h"

using namespace vramtrace::simulator;

namespace {

struct Link {
    std::string image;
};

using LinkTable = HandleTable<Link, CUlinkState>;

LinkTable& links() {
    static auto* const table = new LinkTable;
    return *table;
}

CUresult create(CUlinkState* state) {
    require(state != nullptr);
    *state = LinkTable::handle_of(links().add(std::make_unique<Link>()));
    return CUDA_SUCCESS;
}

CUresult add_data(CUlinkState state, const void* data, size_t size) {
    Link& link = links().get(state);
    require(data != nullptr && size != 0);
    link.image.append(static_cast<const char*>(data), size);
    return CUDA_SUCCESS;
}

CUresult add_file(CUlinkState state, const char* path) {
    Link& link = links().get(state);
    require(path != nullptr);
    link.image += read_file(path);
    return CUDA_SUCCESS;
}

}  // namespace

#define LINK_CALLS(suffix)                                                                                             \
    SIM_API(cuLinkCreate##suffix,                                                                                      \
            (unsigned int numOptions, CUjit_option* options, void** optionValues, CUlinkState* stateOut),              \
            (numOptions, options, optionValues, stateOut)) {                                                           \
        return create(stateOut);                                                                                       \
    }                                                                                                                  \
    SIM_API(cuLinkAddData##suffix,                                                                                     \
            (CUlinkState state, CUjitInputType type, void* data, size_t size, const char* name,                        \
             unsigned int numOptions, CUjit_option* options, void** optionValues),                                     \
            (state, type, data, size, name, numOptions, options, optionValues)) {                                      \
        return add_data(state, data, size);                                                                            \
    }                                                                                                                  \
    SIM_API(cuLinkAddFile##suffix,                                                                                     \
            (CUlinkState state, CUjitInputType type, const char* path, unsigned int numOptions, CUjit_option* options, \
             void** optionValues),                                                                                     \
            (state, type, path, numOptions, options, optionValues)) {                                                  \
        return add_file(state, path);                                                                                  \
    }
LINK_CALLS()
LINK_CALLS(_v2)
#undef LINK_CALLS

SIM_API(cuLinkComplete, (CUlinkState state, void** cubinOut, size_t* sizeOut), (state, cubinOut, sizeOut)) {
    require(cubinOut != nullptr);
    Link& link = links().get(state);
    require(!link.image.empty(), CUDA_ERROR_INVALID_IMAGE);
    *cubinOut = link.image.data();
    if (sizeOut != nullptr) {
        *sizeOut = link.image.size();
    }
    return CUDA_SUCCESS;
}

SIM_API(cuLinkDestroy, (CUlinkState state), (state)) {
    links().remove(links().get(state));
    return CUDA_SUCCESS;
}
