// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

// THE EVENT: what the shim writes, the ring carries, the container packs and the replay reads. One shape all the way.
//
//   byte  0        8        16       24       32       40       48    52    56 57 58    60 61 62    64
//        +--------+--------+--------+--------+--------+--------+-----+-----+--+--+-----+--+--+-----+
//        |sequence| time   |address | size   | object | aux    |stack|thrd |k |d | ctx |a |l |reslt|
//        +--------+--------+--------+--------+--------+--------+-----+-----+--+--+-----+--+--+-----+
//   k = kind, d = device, a = api, l = label. In the ring the first word is the slot's state (ring/ring.h); once read
//   it is the ticket: the event's place in the order of its process.
//
// Rules that every stage relies on
//  - A release (any "…Free", "…Destroy", "…Release", "Unmap", …) is recorded BEFORE the real call, an allocation AFTER
//    it and only on success: an address is never seen twice at once, however threads race.
//  - A release that the driver refused is followed by FreeFailed, which names the ticket it takes back.
//  - An allocation that failed is CallFailed. Nothing was allocated. It is not yet an out-of-memory of the job.
//  - Driver calls are the truth. The runtime's name ("cudaMalloc") is only a label on the driver's event.
namespace vramtrace::trace {

// Values are part of the file format: append only, never renumber.
// Per kind: what the fields mean; a field not named is 0. "→" names the driver functions that make the event.
enum class EventKind : uint8_t {
    None = 0,

    // device_memory ------------------------------------------------------------------------------------------------
    DeviceAlloc =
        1,  // address, size = bytes asked (pitched: pitch·height).          → cuMemAlloc_v2, cuMemAllocPitch_v2
    ManagedAlloc = 2,  // address, size; aux = attach flags.                            → cuMemAllocManaged
    DeviceFree = 3,    // address. Ends Device/Managed/Pool/Graph/ExternalBuffer/imported alike. → cuMemFree_v2

    // host_memory --------------------------------------------------------------------------------------------------
    HostAlloc = 10,  // address, size; aux = flags.                                → cuMemAllocHost_v2, cuMemHostAlloc
    HostFree = 11,   // address.                                                   → cuMemFreeHost
    HostRegister = 12,    // address, size; aux = flags. Pins only, allocates nothing.  → cuMemHostRegister(_v2)
    HostUnregister = 13,  // address.                                                   → cuMemHostUnregister

    // pools --------------------------------------------------------------------------------------------------------
    PoolCreate = 20,         // object = pool, size = maxSize or 0, aux = 1 if imported from a shareable handle
    PoolDestroy = 21,        // object = pool. Deferred by the driver until its allocations are freed.
    PoolTrim = 22,           // object = pool, size = bytes to keep
    PoolAlloc = 23,          // address, size, object = pool (0 = the device's current one), aux = stream
    PoolFree = 24,           // address, aux = stream.                                   → cuMemFreeAsync(_ptsz)
    PoolSetAttribute = 25,   // object = pool, aux = attribute, size = value
    DeviceSetPool = 26,      // object = pool: the device's current pool from now on
    PoolPointerImport = 27,  // address, object = pool. Another process's memory: 0 local bytes.
    PoolInfo = 28,           // a sample. object = pool, size = reserved bytes now, aux = used bytes now

    // virtual_memory -----------------------------------------------------------------------------------------------
    AddressReserve = 30,  // address, size: address space only
    AddressFree = 31,     // address, size
    PhysicalCreate = 32,  // object = handle, size; aux = location type << 32 | location id.        → cuMemCreate
    PhysicalImport = 33,  // object = handle: another's memory, 0 local bytes, one more reference   → cuMemImportFrom…
    PhysicalRetain = 34,   // object = handle, address: one more reference                           → cuMemRetain…
    PhysicalRelease = 35,  // object = handle: one reference less; bytes go when unmapped too        → cuMemRelease
    Map = 36,              // address, size, object = handle, aux = offset in the handle             → cuMemMap
    Unmap = 37,            // address, size                                                          → cuMemUnmap
    MulticastCreate = 38,  // object = handle, size. A handle without memory of its own (0 bytes).
    MulticastBind = 39,    // object = multicast handle, size, aux = memory handle or 0, address = bound address or 0
    MulticastUnbind = 40,  // object = multicast handle, size, aux = offset

    // arrays -------------------------------------------------------------------------------------------------------
    ArrayCreate = 50,    // object = array, size = bytes (from the descriptor: width·height·depth·channels·element)
    ArrayDestroy = 51,   // object
    MipmapCreate = 52,   // object = mipmapped array, size = bytes of all levels, aux = levels
    MipmapDestroy = 53,  // object

    // sharing (IPC, external, graphics): memory that is not ours, always 0 local bytes -------------------------------
    IpcExport = 60,           // address, aux = String definition: the 64 handle bytes
    IpcOpen = 61,             // address, aux = String definition: the 64 handle bytes; size if known
    IpcClose = 62,            // address
    ExternalImport = 63,      // object = external memory, size
    ExternalDestroy = 64,     // object
    ExternalBuffer = 65,      // address, size, object = external memory; ended by DeviceFree
    ExternalMipmap = 66,      // object = mipmapped array, aux = external memory; ended by MipmapDestroy
    GraphicsMap = 67,         // object = resource
    GraphicsUnmap = 68,       // object = resource
    GraphicsPointer = 69,     // address, size, object = resource
    GraphicsUnregister = 70,  // object = resource

    // graphs -------------------------------------------------------------------------------------------------------
    GraphAlloc = 80,        // address, size, object = graph, aux = node: a node, or a captured cuMemAllocAsync
    GraphFree = 81,         // address, object = graph, aux = node: a node, or a captured cuMemFreeAsync
    GraphInstantiate = 82,  // object = exec, aux = graph, size = flags (1 = auto free on launch)
    GraphLaunch = 83,       // object = exec, aux = stream. Recorded only once a process has memory nodes. No stack.
    GraphExecDestroy = 84,  // object = exec
    GraphDestroy = 85,      // object = graph
    GraphNodeDestroy = 86,  // aux = node
    GraphTrim = 87,         // device: unused graph memory goes back to the driver
    GraphChild = 88,        // object = parent graph, aux = child graph (node moved or cloned in)
    CaptureBegin = 89,      // aux = stream
    CaptureEnd = 90,        // aux = stream, object = graph or 0 if the capture failed

    // contexts -----------------------------------------------------------------------------------------------------
    ContextCreate = 100,  // object = handle, context = its index from now on. Also for green contexts' primaries.
    ContextSeen = 101,    // the same for a context whose creation was not seen
    ContextDestroy =
        102,  // object = handle: frees its device memory, pinned memory, arrays, modules; not VMM, not pools
    PrimaryRetain = 103,   // object = handle, device
    PrimaryRelease = 104,  // device: one reference less; the last one ends all of that primary context
    PrimaryReset = 105,    // device: ends all of that primary context whatever its references
    GreenCreate = 106,     // object = green context, device: holds one primary reference
    GreenDestroy = 107,    // object = green context
    ContextLimit = 108,    // aux = limit, size = bytes

    // modules ------------------------------------------------------------------------------------------------------
    ModuleLoad = 110,     // object = module, size = static device bytes if known
    ModuleUnload = 111,   // object
    LibraryLoad = 112,    // object = library
    LibraryUnload = 113,  // object
    ModuleGlobal = 114,   // address, size, object = module or library: a static variable, a view, never counted

    // streams ------------------------------------------------------------------------------------------------------
    StreamCreate = 120,   // object; aux = flags
    StreamDestroy = 121,  // object
    EventCreate = 122,    // object; aux = flags
    EventDestroy = 123,   // object

    // about calls and the device -----------------------------------------------------------------------------------
    CallFailed = 130,  // aux = kind that was attempted, size = bytes asked, address/object if known, result = CUresult
    FreeFailed = 131,  // size = ticket of the release taken back, aux = its kind, address/object as there, result
    RuntimeFailed = 132,     // label failed without reaching the driver: size if known, result = cudaError_t
    MemoryInfo = 133,        // size = free bytes, aux = total bytes of `device` as cuMemGetInfo says
    Unhooked = 134,          // aux = String definition: a name the program looked up that looks like an allocation
                             //       function and that we do not know; size = version asked
    BlindSpot = 135,         // aux = String definition: a sentence on what we cannot see (a RTLD_DEEPBIND plugin, …)
    RecordingStopped = 136,  // aux = String definition: why; nothing is recorded after this. size = 1: by the program's
                             // wish; what ends things (releases, contexts, ranges) is recorded on, without stacks
    RecordingStarted = 137,

    // blocks: what a framework hands out of memory that it has from the driver. A layer of its own: never added to the
    // driver's allocations, in which the blocks lie. Told by the framework under its own lock, so a free always comes
    // before the next block at that address.  → c10::reportMemoryUsageToProfiler, tsl::BFCAllocator
    BlockAlloc = 140,  // address, size = bytes of the block as the framework rounded them; object, aux = allocated and
                       //          reserved bytes of that device after it, as the framework says; 0 if it does not
    BlockFree = 141,   // address, size = bytes or 0 if not said; object, aux as above
    FrameworkOutOfMemory = 142,  // size = bytes asked, object = allocated, aux = reserved. The job sees an exception.

    // phases: what the program says of itself -------------------------------------------------------------------------
    // Pushes and pops nest per thread, per origin (size) and per NVTX domain (address): a pop never ends another's push.
    // A range that was open before the trace was comes first in it, with the time when it was opened.
    RangeBegin =
        150,         // aux = String definition: name; object = its id, or 0: nested in this thread; size = 1 from NVTX;
                     // address = NVTX domain, 0 = the default one
    RangeEnd = 151,  // object = id, or 0: the innermost open one of this thread without an id; size, address as above
    Mark = 152,      // aux = String definition: name; size, address as above
};

constexpr uint8_t kNoDevice = 0xff;
constexpr uint16_t kNoContext = 0;
constexpr uint8_t kNoName = 0;

struct Event {
    uint64_t sequence = 0;  // ring: slot state; read: ticket (0, 1, 2, … per process)
    uint64_t time = 0;      // CLOCK_MONOTONIC, ns. The container keeps µs.
    uint64_t address = 0;   // CUdeviceptr or host pointer
    uint64_t size = 0;      // bytes, as asked for by the program
    uint64_t object = 0;    // CUDA handle (pool, array, graph, VMM handle, …)
    uint64_t aux = 0;       // second thing, by kind
    uint32_t stack = 0;     // definition id of a Stack; 0 = none (see LossReason for why)
    uint32_t thread = 0;    // kernel thread id
    EventKind kind = EventKind::None;
    uint8_t device = kNoDevice;     // CUDA ordinal; of the allocation, not of the thread that frees
    uint16_t context = kNoContext;  // index given by ContextCreate/ContextSeen
    uint8_t api = kNoName;          // index in the Names definition: driver function, exact ABI ("cuMemAlloc_v2")
    uint8_t label = kNoName;        // index in the Names definition: runtime function around it ("cudaMalloc")
    uint16_t result = 0;            // CUresult / cudaError_t of failures, 0 else
};

static_assert(sizeof(Event) == 64);
static_assert(offsetof(Event, time) == 8 && offsetof(Event, aux) == 40 && offsetof(Event, stack) == 48);
static_assert(offsetof(Event, kind) == 56 && offsetof(Event, context) == 58 && offsetof(Event, result) == 62);
static_assert(std::is_trivially_copyable_v<Event> && std::is_standard_layout_v<Event>);

}  // namespace vramtrace::trace
