// SPDX-License-Identifier: Apache-2.0
#include "trace/container/hash64.h"

#include <zstd.h>

#include <cstring>
#include <random>
#include <string_view>
#include <vector>

#include "tests/support/catch.h"

using vramtrace::trace::hash64;

TEST_CASE("hash64 gives the published values of XXH64") {
    const auto of = [](std::string_view text) { return hash64(std::as_bytes(std::span(text.data(), text.size()))); };
    CHECK(of("") == 0xEF46DB3751D8E999ULL);
    CHECK(of("a") == 0xD24EC4F1A98C6E5BULL);
    CHECK(of("abc") == 0x44BC2CF5AD770999ULL);
}

TEST_CASE("hash64 agrees with the checksum that zstd puts behind its frames, at every length") {
    // A frame's checksum is the lower half of XXH64 of its content.
    std::mt19937 random(1);
    ZSTD_CCtx* context = ZSTD_createCCtx();
    ZSTD_CCtx_setParameter(context, ZSTD_c_checksumFlag, 1);
    std::vector<std::byte> bytes;
    for (size_t size = 1; size < 300; ++size) {
        bytes.push_back(static_cast<std::byte>(random()));
        std::vector<std::byte> frame(ZSTD_compressBound(size));
        const size_t written = ZSTD_compress2(context, frame.data(), frame.size(), bytes.data(), size);
        REQUIRE_FALSE(ZSTD_isError(written));
        uint32_t expected = 0;
        std::memcpy(&expected, &frame[written - 4], 4);
        CHECK(static_cast<uint32_t>(hash64(bytes)) == expected);
    }
    ZSTD_freeCCtx(context);
}
