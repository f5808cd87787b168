// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "trace/process_header.h"

struct ZSTD_CCtx_s;
struct ZSTD_DCtx_s;

// THE CONTAINER, STEM.trace: a header, then blocks one after the other. Each block can be read on its own, and a
// damaged one costs only itself: the next is found by its magic and proven by its header's checksum.
//
//   0     24                 176       184       256
//   +-----+------------------+---------+---------+-------+-------+-------+- - -
//   |forma|ProcessIdentity   |checksum | zeros   | block | block | block |
//   +-----+------------------+---------+---------+-------+-------+-------+- - -
//
//   block:  header of 64 bytes, then stored_bytes of payload (zstd frame or as it is)
//   0     4     6     8      12     16        24     28      32       40        48       56       64
//   +-----+-----+-----+------+------+---------+------+-------+--------+---------+--------+--------+
//   |magic|kind |flags|stored|raw   |first    |ticket|0      |position|wall     |checksum|checksum|
//   |     |     |     |bytes |bytes |ticket   |count |       |        |time     |payload |header  |
//   +-----+-----+-----+------+------+---------+------+-------+--------+---------+--------+--------+
namespace vramtrace::trace {

struct ContainerHeader {
    FormatHeader format;  // magic = kContainerMagic, header_bytes = kContainerHeaderBytes
    ProcessIdentity identity;
    uint64_t checksum = 0;  // hash64 of the bytes before it
};
constexpr size_t kContainerHeaderBytes = 256;
static_assert(sizeof(ContainerHeader) == 184 && sizeof(ContainerHeader) <= kContainerHeaderBytes);

// Values are part of the file format: append only. Readers skip a kind they do not know.
enum class BlockKind : uint16_t {
    None = 0,
    Events = 1,       // event_columns.h. Tickets [first_ticket, first_ticket + ticket_count)
    Definitions = 2,  // bytes of the definition image from `position` on; a later block overlays an earlier one
    Clocks = 3,       // ClockPair
    Status = 4,       // status_block.h: loss counters so far
    End = 5,          // status_block.h: how the process ended. first_ticket = tickets handed out in all
};

enum BlockFlags : uint16_t {
    kBlockZstd = 1,  // payload is one zstd frame; else it is stored as it is
};

constexpr uint32_t kBlockMagic = 0x4B4C4256;  // "VBLK"

struct BlockHeader {
    uint32_t magic = kBlockMagic;
    BlockKind kind = BlockKind::None;
    uint16_t flags = 0;
    uint32_t stored_bytes = 0;
    uint32_t raw_bytes = 0;
    uint64_t first_ticket = 0;
    uint32_t ticket_count = 0;
    uint32_t reserved = 0;
    uint64_t position = 0;
    uint64_t wall_time = 0;         // CLOCK_REALTIME, ns, when the block was sealed
    uint64_t payload_checksum = 0;  // hash64 of the stored payload
    uint64_t header_checksum = 0;   // hash64 of the header's bytes before it
};
static_assert(sizeof(BlockHeader) == 64 && offsetof(BlockHeader, header_checksum) == 56);
static_assert(offsetof(BlockHeader, first_ticket) == 16 && offsetof(BlockHeader, wall_time) == 40);

struct ClockPair {
    uint64_t monotonic = 0;  // ns, read between two readings of …
    uint64_t realtime = 0;   // … this clock, whose mean it is
};

// No writer makes larger blocks and no reader takes them: it bounds the memory of both.
constexpr uint32_t kMaxRawBytes = 8U << 20;
constexpr uint32_t kMaxStoredBytes = kMaxRawBytes + (kMaxRawBytes >> 8) + 1024;  // a zstd frame of incompressible bytes
constexpr uint32_t kMaxDefinitionBlockBytes = 1U << 20;

// True if the header can be believed: magic, checksum and bounds.
bool sound(const BlockHeader& header);

class BlockSealer {
public:
    BlockSealer();
    ~BlockSealer();
    BlockSealer(const BlockSealer&) = delete;
    BlockSealer& operator=(const BlockSealer&) = delete;

    // Completes `header` (kind and ticket fields are the caller's) and appends header and payload to `out`.
    void seal(BlockHeader header, std::span<const std::byte> raw, std::vector<std::byte>& out);

private:
    ZSTD_CCtx_s* context_;
    std::vector<std::byte> compressed_;
};

class BlockOpener {
public:
    BlockOpener();
    ~BlockOpener();
    BlockOpener(const BlockOpener&) = delete;
    BlockOpener& operator=(const BlockOpener&) = delete;

    // The payload's raw bytes in `raw`; false if the payload is not what the (sound) header says.
    bool open(const BlockHeader& header, std::span<const std::byte> stored, std::vector<std::byte>& raw);

private:
    ZSTD_DCtx_s* context_;
};

}  // namespace vramtrace::trace
