// SPDX-License-Identifier: Apache-2.0
// A random program on the simulated CUDA: several threads, every kind of memory, failures mixed in. At its end the
// simulator writes its ledger (VRAMTRACE_SIM_LEDGER=path); tests/system/oracle/oracle_test.py compares that with the report.
//
//   oracle_program SEED OPERATIONS THREADS turns|free
//
// "turns": the threads take turns (one operation at a time), so that the order of the trace is the ledger's order and
// peaks can be compared to the byte. "free": they run against each other; then everything that does not depend on the
// order (live set, totals, counts per site) is compared.
#include <cuda.h>
#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <random>
#include <thread>
#include <vector>

#include "sites.h"

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wshadow"  // a C header: functions share names with the structures they fill
#include "simulator/ledger.h"
#pragma GCC diagnostic pop

namespace oracle {
namespace {

enum class Memory { Device, Managed, Host, Registered, Stream, Array, Mipmap, Range, Physical, Retained, Graph, Count };

struct Thing {
    Memory memory;
    CUdeviceptr address = 0;
    void* host = nullptr;
    size_t bytes = 0;
    CUarray array = nullptr;
    CUmipmappedArray mipmap = nullptr;
    CUmemGenericAllocationHandle handle = 0;
    bool mapped = false;
    CUgraph graph = nullptr;
    CUgraphExec exec = nullptr;
};

struct Worker {
    std::mt19937_64 random;
    std::vector<Thing> things;
    CUstream stream = nullptr;
    CUmemoryPool pool = nullptr;
    uint64_t successes = 0, refusals = 0;
    uint64_t relaunches = 0, relaunched_bytes = 0;  // of graphs that free by themselves: no new allocation for us
};

void fail(const char* what, int code) {
    std::fprintf(stderr, "oracle_program: %s answered %d\n", what, code);
    std::_Exit(3);
}
void check(CUresult result, const char* what) {
    if (result != CUDA_SUCCESS) fail(what, result);
}

}  // namespace

struct Job {
    Worker& worker;
    std::vector<Thing>* out;  // what was made
};

namespace {

size_t pick_size(std::mt19937_64& random) {
    static constexpr size_t kShapes[] = {1, 512, 4096, 65536, 1 << 20, 2 << 20, (2 << 20) + 1, 3 << 20};
    if (random() % 4 == 0) return kShapes[random() % std::size(kShapes)];
    return 1 + random() % (random() % 8 == 0 ? (6U << 20) : 50000U);
}

CUmemAllocationProp device_memory_properties() {
    CUmemAllocationProp properties = {};
    properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    properties.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    properties.location.id = 0;
    return properties;
}

CUmemPoolProps device_pool_properties() {
    CUmemPoolProps properties = {};
    properties.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
    properties.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    properties.location.id = 0;
    return properties;
}

}  // namespace

// Makes one random thing. Called through a site's function: the stack below it is that site's.
void perform(Job& job) {
    Worker& w = job.worker;
    Thing thing;
    thing.bytes = pick_size(w.random);
    CUresult result = CUDA_SUCCESS;
    const auto variant = w.random() % 4;
    switch (static_cast<Memory>(w.random() % static_cast<int>(Memory::Count))) {
        case Memory::Device: {
            thing.memory = Memory::Device;
            if (variant == 0) {
                size_t pitch = 0;
                void* address = nullptr;
                result = static_cast<CUresult>(cudaMallocPitch(&address, &pitch, 100 + thing.bytes % 1000, 7));
                thing.address = reinterpret_cast<CUdeviceptr>(address);
            } else if (variant == 1) {
                void* address = nullptr;
                result = static_cast<CUresult>(cudaMalloc(&address, thing.bytes));
                thing.address = reinterpret_cast<CUdeviceptr>(address);
            } else if (variant == 2 && w.random() % 16 == 0) {
                thing.bytes = size_t{1} << 60;  // must fail
                result = cuMemAlloc(&thing.address, thing.bytes);
                if (result == CUDA_SUCCESS) fail("an allocation of 2^60 bytes", 0);
            } else {
                result = cuMemAlloc(&thing.address, thing.bytes);
            }
            break;
        }
        case Memory::Managed:
            thing.memory = Memory::Managed;
            result = cuMemAllocManaged(&thing.address, thing.bytes, CU_MEM_ATTACH_GLOBAL);
            break;
        case Memory::Host:
            thing.memory = Memory::Host;
            if (variant == 0) {
                result = static_cast<CUresult>(cudaHostAlloc(&thing.host, thing.bytes, cudaHostAllocDefault));
            } else if (variant == 1) {
                result = cuMemAllocHost(&thing.host, thing.bytes);
            } else {
                result = cuMemHostAlloc(&thing.host, thing.bytes, 0);
            }
            break;
        case Memory::Registered:
            thing.memory = Memory::Registered;
            thing.bytes = (thing.bytes / 4096 + 1) * 4096;
            if (posix_memalign(&thing.host, 4096, thing.bytes) != 0) fail("posix_memalign", 0);
            result = cuMemHostRegister(thing.host, thing.bytes, 0);
            if (result != CUDA_SUCCESS) std::free(thing.host);
            break;
        case Memory::Stream:
            thing.memory = Memory::Stream;
            if (variant == 0) {
                void* address = nullptr;
                result = static_cast<CUresult>(
                    cudaMallocAsync(&address, thing.bytes, reinterpret_cast<cudaStream_t>(w.stream)));
                thing.address = reinterpret_cast<CUdeviceptr>(address);
            } else if (variant == 1) {
                result = cuMemAllocFromPoolAsync(&thing.address, thing.bytes, w.pool, w.stream);
            } else {
                result = cuMemAllocAsync(&thing.address, thing.bytes, w.stream);
            }
            break;
        case Memory::Array: {
            thing.memory = Memory::Array;
            CUDA_ARRAY3D_DESCRIPTOR descriptor = {};
            descriptor.Width = 1 + thing.bytes % 200;
            descriptor.Height = variant == 0 ? 0 : 1 + thing.bytes % 33;
            descriptor.Depth = variant == 2 ? 1 + thing.bytes % 5 : 0;
            descriptor.Format = variant == 3 ? CU_AD_FORMAT_UNSIGNED_INT8 : CU_AD_FORMAT_FLOAT;
            descriptor.NumChannels = variant == 1 ? 4 : 1;
            result = cuArray3DCreate(&thing.array, &descriptor);
            break;
        }
        case Memory::Mipmap: {
            thing.memory = Memory::Mipmap;
            CUDA_ARRAY3D_DESCRIPTOR descriptor = {};
            descriptor.Width = 16 + thing.bytes % 100;
            descriptor.Height = 16 + thing.bytes % 50;
            descriptor.Format = CU_AD_FORMAT_HALF;
            descriptor.NumChannels = 2;
            result = cuMipmappedArrayCreate(&thing.mipmap, &descriptor, 1 + thing.bytes % 4);
            break;
        }
        case Memory::Range:
            thing.memory = Memory::Range;
            thing.bytes = (1 + thing.bytes % 8) << 21;
            result = cuMemAddressReserve(&thing.address, thing.bytes, 0, 0, 0);
            break;
        case Memory::Physical:
        case Memory::Retained: {
            // A handle; mapped into a range of its own, or not, or with its reference given back while mapped.
            thing.memory = Memory::Physical;
            thing.bytes = (1 + thing.bytes % 4) << 21;
            const CUmemAllocationProp properties = device_memory_properties();
            result = cuMemCreate(&thing.handle, thing.bytes, &properties, 0);
            if (result == CUDA_SUCCESS && variant != 0) {
                check(cuMemAddressReserve(&thing.address, thing.bytes, 0, 0, 0), "cuMemAddressReserve");
                check(cuMemMap(thing.address, thing.bytes, 0, thing.handle, 0), "cuMemMap");
                thing.mapped = true;
                if (variant == 1) {
                    check(cuMemRelease(thing.handle), "cuMemRelease while mapped");
                    thing.handle = 0;
                } else if (variant == 2) {
                    CUmemGenericAllocationHandle again = 0;
                    check(cuMemRetainAllocationHandle(&again, reinterpret_cast<void*>(thing.address)), "cuMemRetain");
                    check(cuMemRelease(again), "cuMemRelease of a retained handle");
                }
            }
            break;
        }
        case Memory::Graph: {
            thing.memory = Memory::Graph;
            check(cuGraphCreate(&thing.graph, 0), "cuGraphCreate");
            CUDA_MEM_ALLOC_NODE_PARAMS parameters = {};
            parameters.poolProps = device_pool_properties();
            parameters.bytesize = thing.bytes;
            CUgraphNode allocation = nullptr;
            result = cuGraphAddMemAllocNode(&allocation, thing.graph, nullptr, 0, &parameters);
            if (result == CUDA_SUCCESS) {
                thing.address = parameters.dptr;
                if (variant == 0) {  // freed inside the graph: never live after a launch
                    CUgraphNode release = nullptr;
                    check(cuGraphAddMemFreeNode(&release, thing.graph, &allocation, 1, thing.address), "free node");
                    thing.address = 0;
                }
                const auto flags = variant == 1 ? CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH : 0;
                check(cuGraphInstantiateWithFlags(&thing.exec, thing.graph, flags), "cuGraphInstantiateWithFlags");
                check(cuGraphLaunch(thing.exec, w.stream), "cuGraphLaunch");
                if (variant == 1) {
                    check(cuGraphLaunch(thing.exec, w.stream), "second cuGraphLaunch");
                    ++w.relaunches;
                    w.relaunched_bytes += thing.bytes;
                }
            } else {
                check(cuGraphDestroy(thing.graph), "cuGraphDestroy");
            }
            break;
        }
        case Memory::Count:
            break;
    }
    if (result != CUDA_SUCCESS) {
        ++w.refusals;
        (void)cudaGetLastError();
        return;
    }
    ++w.successes;
    job.out->push_back(thing);
}

namespace {

// Ends a thing in one of the ways its kind allows. False: refused (a failure on demand); the thing is still there.
bool release(Worker& w, Thing& thing) {
    const auto variant = w.random() % 3;
    switch (thing.memory) {
        case Memory::Device:
            if (variant == 0) return cudaFree(reinterpret_cast<void*>(thing.address)) == cudaSuccess;
            return cuMemFree(thing.address) == CUDA_SUCCESS;
        case Memory::Managed:
            return cuMemFree(thing.address) == CUDA_SUCCESS;
        case Memory::Host:
            return cuMemFreeHost(thing.host) == CUDA_SUCCESS;
        case Memory::Registered:
            if (cuMemHostUnregister(thing.host) != CUDA_SUCCESS) return false;
            std::free(thing.host);
            return true;
        case Memory::Stream:
            if (variant == 0) return cuMemFree(thing.address) == CUDA_SUCCESS;
            if (variant == 1)
                return cudaFreeAsync(reinterpret_cast<void*>(thing.address),
                                     reinterpret_cast<cudaStream_t>(w.stream)) == cudaSuccess;
            return cuMemFreeAsync(thing.address, w.stream) == CUDA_SUCCESS;
        case Memory::Array:
            return cuArrayDestroy(thing.array) == CUDA_SUCCESS;
        case Memory::Mipmap:
            return cuMipmappedArrayDestroy(thing.mipmap) == CUDA_SUCCESS;
        case Memory::Range:
            return cuMemAddressFree(thing.address, thing.bytes) == CUDA_SUCCESS;
        case Memory::Physical:
            if (thing.handle != 0 && variant == 0) {
                if (cuMemRelease(thing.handle) != CUDA_SUCCESS) return false;
                thing.handle = 0;
            }
            if (thing.mapped) {
                if (cuMemUnmap(thing.address, thing.bytes) != CUDA_SUCCESS) return false;
                thing.mapped = false;
            }
            if (thing.handle != 0) {
                if (cuMemRelease(thing.handle) != CUDA_SUCCESS) return false;
                thing.handle = 0;
            }
            if (thing.address != 0) {
                if (cuMemAddressFree(thing.address, thing.bytes) != CUDA_SUCCESS) return false;
                thing.address = 0;
            }
            return true;
        case Memory::Graph:
            if (thing.address != 0) {
                const CUresult result =
                    variant == 0 ? cuMemFree(thing.address) : cuMemFreeAsync(thing.address, w.stream);
                if (result != CUDA_SUCCESS) return false;
                thing.address = 0;
            }
            check(cuGraphExecDestroy(thing.exec), "cuGraphExecDestroy");
            check(cuGraphDestroy(thing.graph), "cuGraphDestroy");
            return true;
        default:
            return true;
    }
}

void odd_calls(Worker& w) {
    // Calls that change nothing: a free of 0, of an unknown address, of a host pointer nobody allocated.
    (void)cuMemFree(0);
    (void)cudaFree(nullptr);
    if (cuMemFree(0x123456789ULL + w.random() % 512) == CUDA_SUCCESS) fail("cuMemFree of an unknown address", 0);
}

void step(Worker& w, CUcontext context) {
    check(cuCtxSetCurrent(context), "cuCtxSetCurrent");
    const auto choice = w.random() % 100;
    if (choice < 3) {
        odd_calls(w);
        return;
    }
    const size_t limit = 40;
    if (choice < 52 && w.things.size() < limit) {
        const size_t site = w.random() % kSites;
        vramtrace_sim_set_tag(site + 1);
        Job job{w, &w.things};
        kSiteFunctions[site](job);
        vramtrace_sim_set_tag(0);
        return;
    }
    if (w.things.empty()) return;
    const size_t index = w.random() % w.things.size();
    Thing thing = w.things[index];
    if (release(w, thing)) {
        w.things[index] = w.things.back();
        w.things.pop_back();
    } else {
        w.things[index] = thing;
    }
}

}  // namespace
}  // namespace oracle

int main(int argc, char** argv) {
    using namespace oracle;
    if (argc != 5) {
        std::fprintf(stderr, "usage: oracle_program SEED OPERATIONS THREADS turns|free\n");
        return 2;
    }
    const uint64_t seed = std::strtoull(argv[1], nullptr, 10);
    const uint64_t operations = std::strtoull(argv[2], nullptr, 10);
    const unsigned threads = static_cast<unsigned>(std::strtoul(argv[3], nullptr, 10));
    const bool turns = std::strcmp(argv[4], "turns") == 0;

    check(cuInit(0), "cuInit");
    CUcontext context = nullptr;
    check(cuDevicePrimaryCtxRetain(&context, 0), "cuDevicePrimaryCtxRetain");
    check(cuCtxSetCurrent(context), "cuCtxSetCurrent");

    std::vector<Worker> workers(threads);
    for (unsigned i = 0; i < threads; ++i) {
        workers[i].random.seed(seed * 1000 + i);
        check(cuStreamCreate(&workers[i].stream, CU_STREAM_NON_BLOCKING), "cuStreamCreate");
        const CUmemPoolProps properties = device_pool_properties();
        check(cuMemPoolCreate(&workers[i].pool, &properties), "cuMemPoolCreate");
    }
    vramtrace_sim_set_failure("cuMemAlloc_v2", 97, 10, 0, CUDA_ERROR_OUT_OF_MEMORY);
    vramtrace_sim_set_failure("cuMemAllocAsync", 89, 10, 0, CUDA_ERROR_OUT_OF_MEMORY);
    vramtrace_sim_set_failure("cuMemFree_v2", 101, 10, 0, CUDA_ERROR_INVALID_VALUE);
    vramtrace_sim_set_failure("cuMemFreeHost", 53, 10, 0, CUDA_ERROR_UNKNOWN);
    vramtrace_sim_set_failure("cuMemUnmap", 67, 10, 0, CUDA_ERROR_UNKNOWN);
    vramtrace_sim_set_failure("cuArrayDestroy", 71, 10, 0, CUDA_ERROR_UNKNOWN);

    std::mutex turn;
    std::vector<std::thread> running;
    for (unsigned i = 0; i < threads; ++i) {
        running.emplace_back([&, i] {
            for (uint64_t n = 0; n < operations / threads; ++n) {
                if (turns) {
                    std::lock_guard<std::mutex> lock(turn);
                    step(workers[i], context);
                } else {
                    step(workers[i], context);
                }
            }
        });
    }
    for (auto& thread : running) thread.join();

    // What a context takes with it, and a pool that outlives its destroy call.
    CUcontext other = nullptr;
    check(cuCtxCreate(&other, nullptr, 0, 0), "cuCtxCreate");
    vramtrace_sim_set_failure("*", 0, 0, 0, 0);
    {
        vramtrace_sim_set_tag(1);
        CUdeviceptr device_memory = 0;
        check(cuMemAlloc(&device_memory, 123456), "cuMemAlloc in a context of its own");
        void* host_memory = nullptr;
        check(cuMemAllocHost(&host_memory, 7777), "cuMemAllocHost in a context of its own");
        vramtrace_sim_set_tag(0);
    }
    check(cuCtxDestroy(other), "cuCtxDestroy");
    check(cuCtxSetCurrent(context), "cuCtxSetCurrent");
    check(cuMemPoolDestroy(workers[0].pool), "cuMemPoolDestroy");

    uint64_t successes = 0, refusals = 0, relaunches = 0, relaunched_bytes = 0;
    for (const auto& worker : workers) {
        successes += worker.successes, refusals += worker.refusals;
        relaunches += worker.relaunches, relaunched_bytes += worker.relaunched_bytes;
    }
    const char* ledger = std::getenv("ORACLE_LEDGER");
    if (ledger != nullptr && vramtrace_sim_dump(ledger) != 0) fail("vramtrace_sim_dump", 0);
    std::printf("made %llu refused %llu\nrelaunched %llu %llu\n", static_cast<unsigned long long>(successes),
                static_cast<unsigned long long>(refusals), static_cast<unsigned long long>(relaunches),
                static_cast<unsigned long long>(relaunched_bytes));
    std::fflush(stdout);
    std::_Exit(0);  // the ledger was written here: nothing may change after it, in the trace neither
}
