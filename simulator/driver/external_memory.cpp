// SPDX-License-Identifier: Apache-2.0
// Memory of another API (or another process) brought in by a descriptor. It counts zero bytes here; a mapped buffer
// is an allocation of its own, ended by cuMemFree, and outlives the import.
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "simulator/driver/arrays.h"

using namespace vramtrace::simulator;

namespace {

struct ExternalMemory {
    Context* context = nullptr;
    uint64_t address = 0;
    uint64_t bytes = 0;
    uint64_t sequence = 0;
};

using ExternalTable = HandleTable<ExternalMemory, CUexternalMemory>;

ExternalTable& externals() {
    static auto* const table = new ExternalTable;
    return *table;
}

void end_external(ExternalMemory& memory) {
    unmap(memory.address, memory.bytes);
    remove_from_book(memory.sequence);
    externals().remove(memory);
}

const OnContextEnd end_all([](Context& context) {
    std::vector<ExternalMemory*> ending;
    externals().for_each([&](ExternalMemory& memory) {
        if (memory.context == &context) {
            ending.push_back(&memory);
        }
    });
    for (ExternalMemory* memory : ending) {
        end_external(*memory);
    }
});

// A descriptor that can be mapped shares its memory; any other gets memory of its own in its place.
uint64_t map_descriptor(int descriptor, uint64_t bytes) {
    struct stat status {};
    require(fstat(descriptor, &status) == 0, CUDA_ERROR_INVALID_HANDLE);
    const bool shareable = S_ISREG(status.st_mode) && static_cast<uint64_t>(status.st_size) >= bytes;
    void* mapped = MAP_FAILED;
    if (shareable) {
        mapped = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
    }
    if (mapped == MAP_FAILED) {
        mapped = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    }
    require(mapped != MAP_FAILED, CUDA_ERROR_OUT_OF_MEMORY);
    return reinterpret_cast<uint64_t>(mapped);
}

// Another view of the part [offset, offset + bytes), at page granularity: {mapping, its length, address of offset}.
struct View {
    uint64_t mapping;
    uint64_t length;
    uint64_t address;
};

View view_of(const ExternalMemory& memory, uint64_t offset, uint64_t bytes) {
    require(bytes != 0 && offset <= memory.bytes && bytes <= memory.bytes - offset);
    const uint64_t first = offset / 4096 * 4096;
    const uint64_t length = round_up(offset + bytes - first, 4096);
    void* mapped = mremap(reinterpret_cast<void*>(memory.address + first), 0, length, MREMAP_MAYMOVE);
    require(mapped != MAP_FAILED, CUDA_ERROR_OUT_OF_MEMORY);
    const auto mapping = reinterpret_cast<uint64_t>(mapped);
    return {mapping, length, mapping + (offset - first)};
}

}  // namespace

SIM_API(cuImportExternalMemory, (CUexternalMemory * extMem_out, const CUDA_EXTERNAL_MEMORY_HANDLE_DESC* memHandleDesc),
        (extMem_out, memHandleDesc)) {
    require(extMem_out != nullptr && memHandleDesc != nullptr && memHandleDesc->size != 0);
    require(memHandleDesc->type == CU_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD, CUDA_ERROR_NOT_SUPPORTED);
    Context& context = current_context().owner();
    auto memory = std::make_unique<ExternalMemory>();
    memory->context = &context;
    memory->bytes = memHandleDesc->size;
    memory->address = map_descriptor(memHandleDesc->handle.fd, memory->bytes);
    close(memHandleDesc->handle.fd);  // a successful import takes the descriptor over
    Book::Item item;
    item.kind = VRAMTRACE_SIM_EXTERNAL_MEMORY;
    item.device = context.device->ordinal;
    item.address = reinterpret_cast<uint64_t>(memory.get());
    item.extent_bytes = memory->bytes;
    item.context = &context;
    memory->sequence = add_to_book(item);
    *extMem_out = ExternalTable::handle_of(externals().add(std::move(memory)));
    return CUDA_SUCCESS;
}

SIM_API(cuDestroyExternalMemory, (CUexternalMemory extMem), (extMem)) {
    end_external(externals().get(extMem));
    return CUDA_SUCCESS;
}

SIM_API(cuExternalMemoryGetMappedBuffer,
        (CUdeviceptr * devPtr, CUexternalMemory extMem, const CUDA_EXTERNAL_MEMORY_BUFFER_DESC* bufferDesc),
        (devPtr, extMem, bufferDesc)) {
    require(devPtr != nullptr && bufferDesc != nullptr && bufferDesc->flags == 0);
    const ExternalMemory& memory = externals().get(extMem);
    const View view = view_of(memory, bufferDesc->offset, bufferDesc->size);
    Allocation allocation;
    allocation.kind = VRAMTRACE_SIM_EXTERNAL_BUFFER;
    allocation.base = view.address;
    allocation.bytes = bufferDesc->size;
    allocation.piece = {view.mapping, 0};
    allocation.mapped_bytes = view.length;
    allocation.context = memory.context;
    allocation.device = memory.context->device;
    *devPtr = to_pointer(add_allocation(allocation, 0).base);
    return CUDA_SUCCESS;
}

SIM_API(cuExternalMemoryGetMappedMipmappedArray,
        (CUmipmappedArray * mipmap, CUexternalMemory extMem,
         const CUDA_EXTERNAL_MEMORY_MIPMAPPED_ARRAY_DESC* mipmapDesc),
        (mipmap, extMem, mipmapDesc)) {
    require(mipmap != nullptr && mipmapDesc != nullptr);
    const ExternalMemory& memory = externals().get(extMem);
    require(mipmapDesc->offset % 4096 == 0 && mipmapDesc->numLevels != 0);
    const View view = view_of(memory, mipmapDesc->offset, mipmap_bytes(mipmapDesc->arrayDesc, mipmapDesc->numLevels));
    *mipmap =
        MipmapTable::handle_of(make_mipmap(mipmapDesc->arrayDesc, mipmapDesc->numLevels, view.address, view.length));
    return CUDA_SUCCESS;
}
