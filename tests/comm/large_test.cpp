// SPDX-License-Identifier: Apache-2.0
// Counts that do not fit in 32 bits; skipped if there is too little memory.
#include <fstream>
#include <memory>

#include "tests/comm/ranks.hpp"

namespace sinew::tests {
namespace {

constexpr std::size_t count = (std::size_t{1} << 31) + 5;
constexpr std::size_t needed = std::size_t{16} << 30;

std::size_t free_memory() {
    std::ifstream file("/proc/meminfo");
    std::string name, unit;
    std::size_t kib = 0;
    while (file >> name >> kib >> unit)
        if (name == "MemAvailable:") return kib << 10;
    return 0;
}

/// Not initialized; filled by the rank that owns it.
std::unique_ptr<std::int8_t[]> bytes() {
    return std::make_unique_for_overwrite<std::int8_t[]>(count);
}

/// Values that differ between positions 2^31 and 2^32 apart.
std::int8_t value(std::size_t i) { return static_cast<std::int8_t>((i >> 20) % 61 + i % 2); }

void expect(std::int8_t const* data, int times) {
    for (std::size_t i = 0; i < count; ++i)
        if (data[i] != value(i) * times) {
            ADD_FAILURE() << "element " << i << " is " << +data[i] << ", not " << value(i) * times;
            return;
        }
}

TEST(MoreThan31Bits, AreReduced) {
    if (free_memory() < needed) GTEST_SKIP() << "needs 16 GiB of free memory";
    run_thread_ranks(2, [](Communicator& comm) {
        auto const data = bytes();
        for (std::size_t i = 0; i < count; ++i) data[i] = value(i);
        comm.allreduce({data.get(), count, DataType::Kind::i8}, sum);
        expect(data.get(), 2);
    });
}

TEST(MoreThan31Bits, AreBroadcast) {
    if (free_memory() < needed) GTEST_SKIP() << "needs 16 GiB of free memory";
    run_thread_ranks(2, [](Communicator& comm) {
        auto const data = bytes();
        if (comm.rank() == 1)
            for (std::size_t i = 0; i < count; ++i) data[i] = value(i);
        comm.broadcast({data.get(), count, DataType::Kind::i8}, 1);
        expect(data.get(), 1);
    });
}

}  // namespace
}  // namespace sinew::tests
