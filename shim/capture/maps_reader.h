// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

// Reads /proc/self/maps line by line without heap, stdio or locks of the C library.
namespace vramtrace::shim {

struct Mapping {
    uintptr_t start = 0, end = 0;
    uint64_t offset = 0;
    uint64_t device = 0;  // major << 32 | minor
    uint64_t inode = 0;   // 0: no file
    bool readable = false;
    bool executable = false;
    const char* name = nullptr;  // path or "[vdso]" …; points into the reader's buffer until the next call of next()
    size_t name_bytes = 0;
};

class MapsReader {
public:
    // `buffer` must hold the longest line (PATH_MAX and a little) and lives as long as the reader.
    MapsReader(char* buffer, size_t bytes);
    ~MapsReader();
    MapsReader(const MapsReader&) = delete;
    MapsReader& operator=(const MapsReader&) = delete;

    bool is_open() const { return descriptor_ >= 0; }
    // False at the end, or when the list could not be read on: failed() tells which.
    bool next(Mapping& mapping);
    bool failed() const { return failed_; }

private:
    bool refill();

    char* buffer_;
    size_t capacity_;
    size_t begin_ = 0, end_ = 0;  // unread bytes
    int descriptor_;
    bool failed_ = false;
    bool at_end_ = false;
};

// One line "start-end perms offset major:minor inode   name". False if it is none.
bool parse_mapping(const char* line, size_t bytes, Mapping& mapping);

}  // namespace vramtrace::shim
