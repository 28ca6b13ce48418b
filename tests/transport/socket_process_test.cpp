// SPDX-License-Identifier: Apache-2.0
// The conformance suite between processes; and a message that an int cannot count.
#include <fstream>

#include "src/transport/socket_transport.hpp"
#include "tests/support/child.hpp"
#include "tests/support/socket_job.hpp"
#include "tests/transport/conformance.hpp"

namespace sinew {
namespace {

using conformance::Bytes;
using conformance::TransportConformance;
using testing_support::Child;
using testing_support::SocketJob;

/// 0 when the rank had nothing to complain of.
int run_rank(SocketJob& job, int rank, std::function<void(Transport&)> const& body) {
    auto own = job.take_listeners(rank);
    job.listeners.clear();  // the others' are theirs alone
    try {
        SocketTransport self(std::make_unique<SocketMesh>(job.world, rank, std::move(own)));
        body(self);
    } catch (std::exception const& error) {
        ADD_FAILURE() << "rank " << rank << ": " << error.what();
    }
    return testing::Test::HasFailure() ? 1 : 0;
}

/// This process is rank 0, its forks are the others.
conformance::World processes(std::string const& name, std::vector<int> const& node_of_rank) {
    return {name, [node_of_rank](auto const& body) {
                SocketJob job(node_of_rank);
                std::vector<Child> others;
                for (int rank = 1; rank < job.world.size(); ++rank)
                    others.emplace_back([&job, &body, rank] { return run_rank(job, rank, body); });
                run_rank(job, 0, body);
                for (auto& other : others) EXPECT_EQ(other.wait(), 0);
            }};
}

INSTANTIATE_TEST_SUITE_P(Processes, TransportConformance,
                         testing::Values(processes("unix2", {0, 0}), processes("tcp2", {0, 1}),
                                         processes("mixed4", {0, 0, 1, 1})),
                         conformance::world_name);

std::size_t available_memory() {
    std::ifstream file("/proc/meminfo");
    std::string name, unit;
    std::size_t kib = 0;
    while (file >> name >> kib >> unit)
        if (name == "MemAvailable:") return kib << 10;
    return 0;
}

/// Cheap to make and to check at any place.
std::byte expected(std::size_t i) { return static_cast<std::byte>(i * 7 + (i >> 8) + (i >> 31)); }

TEST(SocketTransportLarge, CarriesMoreThanTwoGibibytes) {
#if defined(__SANITIZE_THREAD__)
    GTEST_SKIP() << "too slow under the thread sanitizer";
#endif
    static constexpr std::size_t size = (std::size_t{2} << 30) + 4001;
    if (available_memory() < (std::size_t{8} << 30))
        GTEST_SKIP() << "less than 8 GiB of memory available";
    processes("large", {0, 1}).run([](Transport& self) {
        if (self.rank() == 0) {
            Bytes out(size);
            for (std::size_t i = 0; i < size; ++i) out[i] = expected(i);
            return conformance::send(self, 1, 2, out);
        }
        Bytes in(size + 1000, std::byte{0xee});
        auto const probed = [&] { return self.probe(0, 2); };
        conformance::poll([&] { return probed().has_value(); }, "a probe");
        EXPECT_EQ(probed()->bytes, size);
        EXPECT_EQ(conformance::receive(self, 0, 2, in).bytes, size);
        for (std::size_t i = 0; i < size; i += i < size - 5000 ? 4099 : 1)
            ASSERT_EQ(in[i], expected(i)) << i;
        EXPECT_THAT(std::vector(in.end() - 1000, in.end()), testing::Each(std::byte{0xee}));
    });
}

}  // namespace
}  // namespace sinew
