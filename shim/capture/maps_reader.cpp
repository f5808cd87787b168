// SPDX-License-Identifier: Apache-2.0
#include "shim/capture/maps_reader.h"

#include <cstring>

#include "shim/capture/raw_calls.h"

namespace vramtrace::shim {
namespace {

class Line {
public:
    Line(const char* text, size_t bytes) : at_(text), end_(text + bytes) {}

    bool hexadecimal(uint64_t& value) { return number(value, 16); }
    bool decimal(uint64_t& value) { return number(value, 10); }
    bool skip(char expected) {
        if (at_ == end_ || *at_ != expected) return false;
        ++at_;
        return true;
    }
    bool take(char& c) {
        if (at_ == end_) return false;
        c = *at_++;
        return true;
    }
    void skip_blanks() {
        while (at_ != end_ && *at_ == ' ') ++at_;
    }
    const char* rest() const { return at_; }
    size_t rest_bytes() const { return static_cast<size_t>(end_ - at_); }

private:
    bool number(uint64_t& value, unsigned base) {
        const char* first = at_;
        value = 0;
        for (; at_ != end_; ++at_) {
            unsigned digit;
            if (*at_ >= '0' && *at_ <= '9') {
                digit = static_cast<unsigned>(*at_ - '0');
            } else if (base == 16 && *at_ >= 'a' && *at_ <= 'f') {
                digit = static_cast<unsigned>(*at_ - 'a') + 10;
            } else {
                break;
            }
            value = value * base + digit;
        }
        return at_ != first;
    }

    const char* at_;
    const char* end_;
};

// "self" is the first thread: once it is gone, its list is empty while the others run on. Kernels before 3.17 know no
// "thread-self".
int open_maps() {
    const int descriptor = raw::open_readonly("/proc/thread-self/maps");
    return descriptor >= 0 ? descriptor : raw::open_readonly("/proc/self/maps");
}

}  // namespace

bool parse_mapping(const char* text, size_t bytes, Mapping& mapping) {
    Line line(text, bytes);
    uint64_t start, end, major, minor;
    char read, write, execute, shared;
    if (!line.hexadecimal(start) || !line.skip('-') || !line.hexadecimal(end) || !line.skip(' ')) return false;
    if (!line.take(read) || !line.take(write) || !line.take(execute) || !line.take(shared)) return false;
    if (!line.skip(' ') || !line.hexadecimal(mapping.offset) || !line.skip(' ')) return false;
    if (!line.hexadecimal(major) || !line.skip(':') || !line.hexadecimal(minor)) return false;
    if (!line.skip(' ') || !line.decimal(mapping.inode)) return false;
    line.skip_blanks();
    mapping.start = start;
    mapping.end = end;
    mapping.device = major << 32 | minor;
    mapping.readable = read == 'r';
    mapping.executable = execute == 'x';
    mapping.name = line.rest();
    mapping.name_bytes = line.rest_bytes();
    return end > start;
}

MapsReader::MapsReader(char* buffer, size_t bytes) : buffer_(buffer), capacity_(bytes), descriptor_(open_maps()) {
    failed_ = descriptor_ < 0;
}

MapsReader::~MapsReader() {
    if (descriptor_ >= 0) raw::close(descriptor_);
}

bool MapsReader::refill() {
    memmove(buffer_, buffer_ + begin_, end_ - begin_);
    end_ -= begin_;
    begin_ = 0;
    if (end_ == capacity_) {
        failed_ = true;  // a line longer than the buffer: not a list that we know
        return false;
    }
    const long got = raw::read(descriptor_, buffer_ + end_, capacity_ - end_);
    if (got < 0) {
        failed_ = true;
        return false;
    }
    at_end_ = got == 0;
    end_ += static_cast<size_t>(got);
    return got > 0;
}

bool MapsReader::next(Mapping& mapping) {
    if (descriptor_ < 0) return false;
    for (;;) {
        const char* line = buffer_ + begin_;
        const void* newline = memchr(line, '\n', end_ - begin_);
        if (newline) {
            const size_t bytes = static_cast<size_t>(static_cast<const char*>(newline) - line);
            begin_ += bytes + 1;
            if (parse_mapping(line, bytes, mapping)) return true;
            failed_ = true;
            return false;
        }
        if (at_end_ || !refill()) {
            // A half line at the end means that the list was cut off.
            failed_ = failed_ || begin_ != end_;
            return false;
        }
    }
}

}  // namespace vramtrace::shim
