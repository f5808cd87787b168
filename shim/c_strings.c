// SPDX-License-Identifier: Apache-2.0
// The string and memory functions that the shim (and the compiler, for it) calls, of its own and hidden. libc's can be taken
// over by whoever is preloaded or linked in front: a sanitizer's look up the real ones by dlsym, which is our hook, and
// until that has answered they jump to address 0. Linked into libvramtrace.so only; never a call into libc from here.
#include <stddef.h>
#include <stdint.h>

typedef uint64_t Word __attribute__((may_alias, aligned(1)));
typedef unsigned char Byte;

void* memcpy(void* restrict to, const void* restrict from, size_t bytes) {
    Byte* out = to;
    const Byte* in = from;
    for (; bytes >= 4 * sizeof(Word); bytes -= 4 * sizeof(Word), out += 4 * sizeof(Word), in += 4 * sizeof(Word)) {
        const Word a = ((const Word*)in)[0], b = ((const Word*)in)[1], c = ((const Word*)in)[2],
                   d = ((const Word*)in)[3];
        ((Word*)out)[0] = a;
        ((Word*)out)[1] = b;
        ((Word*)out)[2] = c;
        ((Word*)out)[3] = d;
    }
    for (; bytes >= sizeof(Word); bytes -= sizeof(Word), out += sizeof(Word), in += sizeof(Word))
        *(Word*)out = *(const Word*)in;
    for (; bytes > 0; --bytes) *out++ = *in++;
    return to;
}

void* memmove(void* to, const void* from, size_t bytes) {
    Byte* out = to;
    const Byte* in = from;
    if ((uintptr_t)out - (uintptr_t)in >= bytes) {  // not into what is still to be read
        for (; bytes >= sizeof(Word); bytes -= sizeof(Word), out += sizeof(Word), in += sizeof(Word)) {
            *(Word*)out = *(const Word*)in;
        }
        for (; bytes > 0; --bytes) *out++ = *in++;
        return to;
    }
    while (bytes > 0) {
        --bytes;
        out[bytes] = in[bytes];
    }
    return to;
}

void* memset(void* to, int value, size_t bytes) {
    Byte* out = to;
    const uint64_t word = (Byte)value * UINT64_C(0x0101010101010101);
    for (; bytes >= sizeof(Word); bytes -= sizeof(Word), out += sizeof(Word)) *(Word*)out = word;
    for (; bytes > 0; --bytes) *out++ = (Byte)value;
    return to;
}

int memcmp(const void* left, const void* right, size_t bytes) {
    const Byte* a = left;
    const Byte* b = right;
    for (; bytes >= sizeof(Word) && *(const Word*)a == *(const Word*)b; bytes -= sizeof(Word)) {
        a += sizeof(Word);
        b += sizeof(Word);
    }
    for (; bytes > 0; --bytes, ++a, ++b) {
        if (*a != *b) return *a - *b;
    }
    return 0;
}

void* memchr(const void* in, int value, size_t bytes) {
    const Byte* at = in;
    for (; bytes > 0; --bytes, ++at) {
        if (*at == (Byte)value) return (void*)at;
    }
    return NULL;
}

void* memmem(const void* in, size_t bytes, const void* wanted, size_t wanted_bytes) {
    const Byte* at = in;
    for (; bytes >= wanted_bytes; --bytes, ++at) {
        if (memcmp(at, wanted, wanted_bytes) == 0) return (void*)at;
    }
    return NULL;
}

size_t strlen(const char* text) {
    const char* end = text;
    while (*end != '\0') ++end;
    return (size_t)(end - text);
}

size_t strnlen(const char* text, size_t most) {
    size_t length = 0;
    while (length < most && text[length] != '\0') ++length;
    return length;
}

int strcmp(const char* left, const char* right) {
    while (*left != '\0' && *left == *right) {
        ++left;
        ++right;
    }
    return (Byte)*left - (Byte)*right;
}

int strncmp(const char* left, const char* right, size_t most) {
    for (; most > 0; --most, ++left, ++right) {
        if (*left != *right || *left == '\0') return (Byte)*left - (Byte)*right;
    }
    return 0;
}

char* strchr(const char* text, int value) {
    for (;; ++text) {
        if (*text == (char)value) return (char*)text;
        if (*text == '\0') return NULL;
    }
}

char* strrchr(const char* text, int value) {
    const char* found = NULL;
    for (;; ++text) {
        if (*text == (char)value) found = text;
        if (*text == '\0') return (char*)found;
    }
}

char* strstr(const char* text, const char* wanted) {
    const size_t length = strlen(wanted);
    for (;; ++text) {
        if (strncmp(text, wanted, length) == 0) return (char*)text;
        if (*text == '\0') return NULL;
    }
}

char* strcpy(char* restrict to, const char* restrict from) {
    memcpy(to, from, strlen(from) + 1);
    return to;
}

char* strncpy(char* restrict to, const char* restrict from, size_t bytes) {
    const size_t length = strnlen(from, bytes);
    memcpy(to, from, length);
    memset(to + length, 0, bytes - length);
    return to;
}
