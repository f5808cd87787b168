// SPDX-License-Identifier: Apache-2.0
#include <map>
#include <random>
#include <thread>

#include "simulated_machine.h"

namespace {

std::map<uint64_t, uint64_t> by_tag(int quantity, int device, bool peak) {
    std::vector<vramtrace_sim_tag_bytes> entries(
        vramtrace_sim_bytes_by_tag(quantity, device, peak ? 1 : 0, nullptr, 0));
    vramtrace_sim_bytes_by_tag(quantity, device, peak ? 1 : 0, entries.data(), entries.size());
    std::map<uint64_t, uint64_t> result;
    for (const auto& entry : entries) {
        result[entry.tag] = entry.bytes;
    }
    return result;
}

vramtrace_sim_api_count count_of(const char* name) {
    vramtrace_sim_api_count count{};
    REQUIRE(vramtrace_sim_get_api_count(name, &count) == 0);
    return count;
}

}  // namespace

TEST_CASE("sums and peaks per tag equal a straightforward account of a random program") {
    const PrimaryContext context;
    vramtrace_sim_reset_peaks();
    struct Piece {
        uint64_t bytes;
        uint64_t tag;
        bool pooled;
    };
    std::map<CUdeviceptr, Piece> mine;
    std::map<uint64_t, uint64_t> sums;
    std::map<uint64_t, uint64_t> sums_at_peak;
    uint64_t live = 0;
    uint64_t peak = 0;
    uint64_t peak_sequence = 0;
    std::mt19937_64 random(GENERATE(1, 2, 3));
    for (int step = 0; step < 4000; ++step) {
        if (random() % 100 < 52 || mine.empty()) {
            const uint64_t tag = random() % 17;
            const uint64_t bytes = 1 + random() % (random() % 8 == 0 ? 3 * kMiB : 5000);
            const bool pooled = random() % 3 == 0;
            vramtrace_sim_set_tag(tag);
            CUdeviceptr memory = 0;
            const CUresult result = pooled ? cuMemAllocAsync(&memory, bytes, nullptr) : cuMemAlloc(&memory, bytes);
            if (result != CUDA_SUCCESS) {
                REQUIRE(result == CUDA_ERROR_OUT_OF_MEMORY);
                continue;
            }
            mine[memory] = {bytes, tag, pooled};
            sums[tag] += bytes;
            live += bytes;
            if (live > peak) {
                peak = live;
                sums_at_peak = sums;
                peak_sequence = everything_live().back().sequence;
            }
        } else {
            auto found = mine.begin();
            std::advance(found, random() % std::min<size_t>(mine.size(), 50));
            REQUIRE((found->second.pooled ? cuMemFreeAsync(found->first, nullptr) : cuMemFree(found->first)) ==
                    CUDA_SUCCESS);
            live -= found->second.bytes;
            sums[found->second.tag] -= found->second.bytes;
            mine.erase(found);
        }
    }
    std::erase_if(sums, [](const auto& entry) { return entry.second == 0; });
    std::erase_if(sums_at_peak, [](const auto& entry) { return entry.second == 0; });
    const auto total = totals(VRAMTRACE_SIM_DEVICE_TOTAL);
    CHECK(total.live_bytes == live);
    CHECK(total.live_count == mine.size());
    CHECK(total.peak_bytes == peak);
    CHECK(total.peak_sequence == peak_sequence);
    CHECK(by_tag(VRAMTRACE_SIM_DEVICE_TOTAL, 0, false) == sums);
    CHECK(by_tag(VRAMTRACE_SIM_DEVICE_TOTAL, 0, true) == sums_at_peak);
    CHECK(by_tag(VRAMTRACE_SIM_DEVICE_TOTAL, VRAMTRACE_SIM_ALL_DEVICES, true) == sums_at_peak);
    vramtrace_sim_set_tag(0);
    for (const auto& [memory, piece] : mine) {
        REQUIRE(cuMemFree(memory) == CUDA_SUCCESS);
    }
    CHECK(live_bytes(VRAMTRACE_SIM_DEVICE_TOTAL) == 0);
    REQUIRE(cuCtxSynchronize() == CUDA_SUCCESS);
    CHECK(used_bytes() == kContextBytes);
}

TEST_CASE("a live allocation says where it came from") {
    const PrimaryContext context;
    vramtrace_sim_set_tag(77);
    CUdeviceptr memory = 0;
    REQUIRE(cuMemAlloc(&memory, 3000) == CUDA_SUCCESS);
    vramtrace_sim_set_tag(0);
    const auto item = everything_live().back();
    CHECK(item.kind == VRAMTRACE_SIM_DEVICE);
    CHECK(item.address == memory);
    CHECK(item.local_bytes == 3000);
    CHECK(item.extent_bytes == 3000);
    CHECK(item.physical_bytes == 3072);
    CHECK(item.tag == 77);
    CHECK(item.device == 0);
    CHECK(item.context == reinterpret_cast<uint64_t>(context.context));
    CHECK(item.api == std::string("cuMemAlloc_v2"));
}

TEST_CASE("devices are kept apart") {
    const PrimaryContext first(0);
    CUdeviceptr memory = 0;
    REQUIRE(cuMemAlloc(&memory, 1000) == CUDA_SUCCESS);
    {
        const PrimaryContext second(1);
        REQUIRE(cuMemAlloc(&memory, 500) == CUDA_SUCCESS);
        CHECK(live_bytes(VRAMTRACE_SIM_DEVICE, 0) == 1000);
        CHECK(live_bytes(VRAMTRACE_SIM_DEVICE, 1) == 500);
        CHECK(live_bytes(VRAMTRACE_SIM_DEVICE, VRAMTRACE_SIM_ALL_DEVICES) == 1500);
    }
    CHECK(live_bytes(VRAMTRACE_SIM_DEVICE, VRAMTRACE_SIM_ALL_DEVICES) == 1000);
    vramtrace_sim_totals unused{};
    CHECK(vramtrace_sim_get_totals(VRAMTRACE_SIM_DEVICE, 2, &unused) == -1);
    CHECK(vramtrace_sim_get_totals(VRAMTRACE_SIM_QUANTITY_COUNT, 0, &unused) == -1);
}

TEST_CASE("failures on demand come when asked and do nothing") {
    const PrimaryContext context;
    const auto before = count_of("cuMemAlloc_v2");
    REQUIRE(vramtrace_sim_set_failure("cuMemAlloc_v2", 3, 2, 2, CUDA_ERROR_OUT_OF_MEMORY) == 0);
    std::string outcome;
    for (int i = 0; i < 12; ++i) {
        CUdeviceptr memory = 0;
        outcome += cuMemAlloc(&memory, 10) == CUDA_SUCCESS ? '.' : 'x';
    }
    CHECK(outcome == "....x..x....");
    CHECK(live_count(VRAMTRACE_SIM_DEVICE) == 10);
    const auto after = count_of("cuMemAlloc_v2");
    CHECK(after.calls - before.calls == 12);
    CHECK(after.successes - before.successes == 10);
    CHECK(after.failures - before.failures == 2);
    CHECK(after.injected - before.injected == 2);
    REQUIRE(vramtrace_sim_set_failure("cuMemAlloc_v2", 0, 0, 0, 0) == 0);
    CHECK(vramtrace_sim_set_failure("cuNoSuchThing", 1, 0, 0, 1) == -1);
    REQUIRE(vramtrace_sim_set_failure("*", 1, 0, 1, CUDA_ERROR_UNKNOWN) == 0);
    int count = 0;
    CHECK(cuDeviceGetCount(&count) == CUDA_ERROR_UNKNOWN);
    CHECK(cuDeviceGetCount(&count) == CUDA_SUCCESS);
    REQUIRE(vramtrace_sim_set_failure("cuDeviceGetCount", 1, 0, 0, CUDA_ERROR_UNKNOWN) == 0);
    CHECK(cuDeviceGetCount(&count) == CUDA_ERROR_UNKNOWN);
    REQUIRE(vramtrace_sim_set_failure("*", 0, 0, 0, 0) == 0);
    CHECK(cuDeviceGetCount(&count) == CUDA_SUCCESS);
}

TEST_CASE("threads may allocate and free at once") {
    const PrimaryContext context;
    const uint64_t before = totals(VRAMTRACE_SIM_DEVICE_TOTAL).created_count;
    std::vector<std::thread> threads;
    for (uint64_t number = 0; number < 4; ++number) {
        threads.emplace_back([number, current = context.context] {
            cuCtxSetCurrent(current);
            vramtrace_sim_set_tag(number);
            CUstream stream = nullptr;
            cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING);
            for (int i = 0; i < 2000; ++i) {
                CUdeviceptr first = 0;
                CUdeviceptr second = 0;
                void* host = nullptr;
                cuMemAlloc(&first, 1000 + number);
                cuMemAllocAsync(&second, 2000, stream);
                cuMemAllocHost(&host, 100);
                cuMemsetD8Async(second, 1, 2000, stream);
                cuMemFreeHost(host);
                cuMemFreeAsync(second, stream);
                cuMemFree(first);
            }
            cuStreamDestroy(stream);
        });
    }
    for (auto& thread : threads) {
        thread.join();
    }
    CHECK(totals(VRAMTRACE_SIM_DEVICE_TOTAL).created_count - before == 16000);
    CHECK(live_bytes(VRAMTRACE_SIM_DEVICE_TOTAL) == 0);
    CHECK(live_bytes(VRAMTRACE_SIM_HOST) == 0);
}
