/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The ledger of the simulated CUDA driver: what is truly live, asked by tests as their oracle.
 *
 * Plain C99. Every function is exported by the simulated libcuda.so.1: link against it, or find it with dlsym in the
 * loaded library. All functions may be called from any thread at any time, also before cuInit and after the driver
 * shut down, and never change the simulated machine (except the two that say so). Sizes are bytes.
 *
 * WHAT IS LIVE, by kind. "Counted" bytes are local_bytes; extent_bytes is the size of the range or object, which may
 * be larger (memory that belongs to somebody else, address space).
 *
 *  kind                 live from .. to                                                     counted bytes
 *  DEVICE               cuMemAlloc .. cuMemFree[Async], end of its context                   bytes asked
 *  PITCHED              cuMemAllocPitch .. the same                                          pitch * height
 *  MANAGED              cuMemAllocManaged .. the same                                        bytes asked
 *  HOST                 cuMemAllocHost, cuMemHostAlloc .. cuMemFreeHost, end of its context  bytes asked
 *  HOST_REGISTERED      cuMemHostRegister .. cuMemHostUnregister, end of its context         bytes asked
 *  STREAM_ORDERED       cuMemAllocAsync, FromPool .. cuMemFreeAsync or cuMemFree called       bytes asked
 *                       (program order; outlives contexts)
 *  POOL                 cuMemPoolCreate .. cuMemPoolDestroy AND its last allocation freed    0
 *                       (the default pools are not listed)
 *  PHYSICAL             cuMemCreate .. no reference (create, retain, import in the same      bytes asked
 *                       process) AND no mapping, array binding or multicast binding left
 *  PHYSICAL_IMPORTED    cuMemImportFromShareableHandle of another process's memory .. same   0
 *  ADDRESS_RANGE        cuMemAddressReserve .. cuMemAddressFree                              0
 *  MAPPING              cuMemMap .. cuMemUnmap                                               0
 *  MULTICAST            cuMulticastCreate .. no reference and no mapping                     0
 *  ARRAY                cuArrayCreate, cuArray3DCreate .. cuArrayDestroy, end of context     width*height*depth*element;
 *                                                                                            0 if sparse or deferred
 *  MIPMAPPED_ARRAY      cuMipmappedArrayCreate .. Destroy, end of context                    sum of all levels, likewise
 *  IPC_IMPORT           first cuIpcOpenMemHandle .. last cuIpcCloseMemHandle, end of context 0
 *  POOL_IMPORT          cuMemPoolImportPointer .. cuMemFree[Async]                           0
 *  EXTERNAL_MEMORY      cuImportExternalMemory .. cuDestroyExternalMemory, end of context    0
 *  EXTERNAL_BUFFER      cuExternalMemoryGetMappedBuffer .. cuMemFree, end of context         0
 *  EXTERNAL_MIPMAP      ..GetMappedMipmappedArray .. Destroy of the mipmap, end of context   0
 *  GRAPH_MEMORY         launch of its allocation node .. free node, cuMemFree[Async],        bytes asked
 *                       auto free at the next launch; destroying the graph ends nothing
 *  MODULE               cuModuleLoad*, first use of a library in a context .. unload, end    its global variables, if
 *                       of context                                                           declared or found in the
 *                                                                                            image; else the size of
 *                                                                                            the image
 *  CONTEXT              created or first retained .. destroyed, reset, last release          0 (see device use)
 *  STREAM, EVENT, GRAPH, GRAPH_EXEC, LIBRARY                                                 0
 *
 * Views (cuArrayGetPlane, cuMipmappedArrayGetLevel, pointers of library globals) are never listed.
 * End of a context: cuCtxDestroy, cuCtxDetach of the last reference, cuDevicePrimaryCtxRelease of the last reference,
 * cuDevicePrimaryCtxReset, cuGreenCtxDestroy when it drops the last reference of the primary context.
 */
#ifndef VRAMTRACE_SIMULATOR_LEDGER_H
#define VRAMTRACE_SIMULATOR_LEDGER_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define VRAMTRACE_SIM_EXPORT __attribute__((visibility("default")))
#else
#define VRAMTRACE_SIM_EXPORT
#endif

enum vramtrace_sim_kind {
    VRAMTRACE_SIM_DEVICE = 0,
    VRAMTRACE_SIM_PITCHED = 1,
    VRAMTRACE_SIM_MANAGED = 2,
    VRAMTRACE_SIM_HOST = 3,
    VRAMTRACE_SIM_HOST_REGISTERED = 4,
    VRAMTRACE_SIM_STREAM_ORDERED = 5,
    VRAMTRACE_SIM_POOL = 6,
    VRAMTRACE_SIM_PHYSICAL = 7,
    VRAMTRACE_SIM_PHYSICAL_IMPORTED = 8,
    VRAMTRACE_SIM_ADDRESS_RANGE = 9,
    VRAMTRACE_SIM_MAPPING = 10,
    VRAMTRACE_SIM_MULTICAST = 11,
    VRAMTRACE_SIM_ARRAY = 12,
    VRAMTRACE_SIM_MIPMAPPED_ARRAY = 13,
    VRAMTRACE_SIM_IPC_IMPORT = 14,
    VRAMTRACE_SIM_POOL_IMPORT = 15,
    VRAMTRACE_SIM_EXTERNAL_MEMORY = 16,
    VRAMTRACE_SIM_EXTERNAL_BUFFER = 17,
    VRAMTRACE_SIM_EXTERNAL_MIPMAP = 18,
    VRAMTRACE_SIM_GRAPH_MEMORY = 19,
    VRAMTRACE_SIM_MODULE = 20,
    VRAMTRACE_SIM_CONTEXT = 21,
    VRAMTRACE_SIM_STREAM = 22,
    VRAMTRACE_SIM_EVENT = 23,
    VRAMTRACE_SIM_GRAPH = 24,
    VRAMTRACE_SIM_GRAPH_EXEC = 25,
    VRAMTRACE_SIM_LIBRARY = 26,
    VRAMTRACE_SIM_KIND_COUNT = 27,

    /* A quantity, not a kind: the sum of DEVICE, PITCHED, STREAM_ORDERED, PHYSICAL, ARRAY, MIPMAPPED_ARRAY and
     * GRAPH_MEMORY: device memory that calls asked for. Accepted wherever a quantity is. */
    VRAMTRACE_SIM_DEVICE_TOTAL = 27,
    VRAMTRACE_SIM_QUANTITY_COUNT = 28
};

/* Accepted as device of DEVICE_TOTAL and of every kind: the sum over all devices (with a peak of its own). */
#define VRAMTRACE_SIM_ALL_DEVICES (-1)

struct vramtrace_sim_allocation {
    uint64_t sequence;       /* 1, 2, 3, ...: order in which things became live, over all kinds and devices */
    uint64_t tag;            /* vramtrace_sim_set_tag of the creating thread at that moment, else 0 */
    uint64_t address;        /* device or host address; the handle's value for things that have no address */
    uint64_t local_bytes;    /* counted bytes, see above */
    uint64_t extent_bytes;   /* size of the range or object */
    uint64_t physical_bytes; /* this piece after rounding (512 bytes below 2 MiB, else whole 2 MiB pages); 0 for host */
    uint64_t context;        /* CUcontext that owns it, or 0 */
    uint64_t pool;           /* CUmemoryPool, or 0 */
    int32_t device;          /* device of the thing, or of the context it was made in; -1 if none */
    uint32_t kind;           /* enum vramtrace_sim_kind */
    const char* api;         /* exported name of the call that made it; a constant string */
};

struct vramtrace_sim_totals {
    uint64_t live_bytes;
    uint64_t live_count;
    uint64_t peak_bytes;    /* largest live_bytes so far */
    uint64_t peak_sequence; /* sequence of the allocation that first reached it, 0 if never */
    uint64_t created_count; /* all that ever became live */
    uint64_t created_bytes;
    uint64_t ended_count; /* all that ended, explicitly or with their owner */
    uint64_t ended_bytes;
    uint64_t with_owner_count; /* part of ended: nobody freed them, their context ended (a runtime ends it at exit) */
    uint64_t with_owner_bytes;
};

struct vramtrace_sim_device_use {
    uint64_t total_bytes; /* size of the device */
    uint64_t used_bytes;  /* pages in use: what cuMemGetInfo subtracts; contexts and pools' caches included */
    uint64_t peak_used_bytes;
    uint64_t context_bytes;        /* part of used: contexts and their raised limits */
    uint64_t pool_reserved_bytes;  /* part of used: all pools' reserved memory, live or cached */
    uint64_t graph_reserved_bytes; /* part of used: graph memory, live or cached */
    uint64_t pending_bytes;        /* stream-ordered frees whose stream was not synchronised yet (bytes asked) */
};

struct vramtrace_sim_api_count {
    const char* name; /* exported name; a constant string */
    uint64_t calls;
    uint64_t successes;
    uint64_t failures; /* calls - successes, failures on demand included */
    uint64_t injected; /* failures on demand */
};

struct vramtrace_sim_tag_bytes {
    uint64_t tag;
    uint64_t bytes;
};

/* The functions that fill an array return how many entries exist; at most capacity are written (out may be NULL). */
VRAMTRACE_SIM_EXPORT size_t vramtrace_sim_live(struct vramtrace_sim_allocation* out, size_t capacity); /* by sequence */
VRAMTRACE_SIM_EXPORT size_t vramtrace_sim_api_counts(struct vramtrace_sim_api_count* out, size_t capacity);

/* 0 on success, -1 if there is no such quantity, device or name. */
VRAMTRACE_SIM_EXPORT int vramtrace_sim_get_totals(int quantity, int device, struct vramtrace_sim_totals* out);
VRAMTRACE_SIM_EXPORT int vramtrace_sim_get_device_use(int device, struct vramtrace_sim_device_use* out);
VRAMTRACE_SIM_EXPORT int vramtrace_sim_get_api_count(const char* name, struct vramtrace_sim_api_count* out);

/* What the live (peak == 0) or the peak (peak != 0) bytes of a quantity consist of: exact sums per tag, ordered by
 * tag, tags with 0 bytes left out. The sums add up to live_bytes or peak_bytes. A peak is the first moment at which
 * the largest value was reached. */
VRAMTRACE_SIM_EXPORT size_t vramtrace_sim_bytes_by_tag(int quantity, int device, int peak,
                                                       struct vramtrace_sim_tag_bytes* out, size_t capacity);

/* Recorded with each thing that this thread makes live from now on. A test sets its call site's number. */
VRAMTRACE_SIM_EXPORT void vramtrace_sim_set_tag(uint64_t tag);
VRAMTRACE_SIM_EXPORT uint64_t vramtrace_sim_tag(void);

/* Starts all peaks again from what is live now. */
VRAMTRACE_SIM_EXPORT void vramtrace_sim_reset_peaks(void);

/* Failures on demand, added to those of VRAMTRACE_SIM_FAIL: the function answers `code` without doing anything, at
 * every `every`-th call after the first `after` calls, at most `count` times (0 = without end). every == 0 removes
 * the function's rules. The name "*" means every function (and removes every rule). Changes the machine's behaviour. 0, or -1 for a bad name. */
VRAMTRACE_SIM_EXPORT int vramtrace_sim_set_failure(const char* name, uint64_t every, uint64_t after, uint64_t count,
                                                   int code);

/* Tells the driver of a global variable that images loaded later hold, as a compiler's registration code knows it:
 * the next load of `image` gets memory for it and look-ups of `name` answer this size. Changes the machine. */
VRAMTRACE_SIM_EXPORT void vramtrace_sim_declare_global(const void* image, const char* name, size_t bytes, int managed);

/* Everything above as one JSON document. 0, or an errno. VRAMTRACE_SIM_LEDGER=path does it at exit (%p = pid). */
VRAMTRACE_SIM_EXPORT int vramtrace_sim_dump(const char* path);

/* For a consistent picture over several of these calls: no driver call of another thread runs in between. Nests. */
VRAMTRACE_SIM_EXPORT void vramtrace_sim_lock(void);
VRAMTRACE_SIM_EXPORT void vramtrace_sim_unlock(void);

VRAMTRACE_SIM_EXPORT const char* vramtrace_sim_kind_name(int kind); /* "device", ...; NULL if there is none */

#ifdef __cplusplus
}
#endif
#endif
