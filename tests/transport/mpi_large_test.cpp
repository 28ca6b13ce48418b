// SPDX-License-Identifier: Apache-2.0
// A message whose size exceeds an int. A separate program, because of its memory.
#include <fstream>

#include "src/transport/mpi_transport.hpp"
#include "tests/transport/conformance.hpp"

namespace sinew {
namespace {

using conformance::Bytes;

std::size_t available_memory() {
    std::ifstream file("/proc/meminfo");
    std::string name, unit;
    std::size_t kib = 0;
    while (file >> name >> kib >> unit)
        if (name == "MemAvailable:") return kib << 10;
    return 0;
}

/// Checks samples: checking every byte would take longer than the transfer.
void expect_pattern(Bytes const& bytes, std::size_t size) {
    for (std::size_t i = 0; i < size; i += i < size - 5000 ? 4099 : 1)
        ASSERT_EQ(bytes[i], static_cast<std::byte>(i * 7 + (i >> 8))) << i;
}

TEST(MpiTransport, CarriesMoreThanTwoGibibytes) {
    constexpr std::size_t size = (std::size_t{2} << 30) + 4001;
    constexpr std::size_t room = size + 1000;
    MpiTransport self(MPI_COMM_WORLD);
    // One rank decides for both.
    Bytes enough{std::byte{available_memory() >= (std::size_t{12} << 30)}};
    if (self.rank() == 0) conformance::send(self, 1, 1, enough);
    else conformance::receive(self, 0, 1, enough);
    if (enough[0] == std::byte{0}) GTEST_SKIP() << "less than 12 GiB of memory available";

    if (self.rank() == 0) {
        conformance::send(self, 1, 2, conformance::pattern(size, 0));
        conformance::send(self, 1, 3, conformance::pattern(77, 0));
        return;
    }
    Bytes in(room, std::byte{0xee});
    auto const probed = [&] { return self.probe(0, 2); };
    conformance::poll([&] { return probed().has_value(); }, "a probe");
    EXPECT_EQ(probed()->bytes, size);
    auto got = conformance::receive(self, 0, 2, in);
    EXPECT_EQ(got.bytes, size);
    expect_pattern(in, size);
    EXPECT_THAT(std::vector(in.end() - 1000, in.end()), testing::Each(std::byte{0xee}));
    got = conformance::receive(self, 0, 3, in);  // a short message into a receive of the same size
    EXPECT_EQ(got.bytes, 77u);
}

}  // namespace
}  // namespace sinew
