// SPDX-License-Identifier: Apache-2.0
// The conformance suite between processes, and a message whose size exceeds an int.
#include <linux/filter.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <fstream>
#include <new>

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

/// Returns 0 if the rank has found no error.
int run_rank(SocketJob& job, int rank, std::function<void(Transport&)> const& body) {
    auto own = job.take_listeners(rank);
    job.listeners.clear();  // close the other ranks' sockets
    try {
        SocketTransport self(std::make_unique<SocketMesh>(job.world, rank, std::move(own)));
        body(self);
    } catch (std::exception const& error) {
        ADD_FAILURE() << "rank " << rank << ": " << error.what();
    }
    return testing::Test::HasFailure() ? 1 : 0;
}

/// This process is rank 0, its forks are the other ranks.
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

/// From here on the kernel drops, without an answer, all data for TCP connections of this process,
/// as if its host were down.
void be_unreachable() {
    sock_filter drop[] = {BPF_STMT(BPF_RET | BPF_K, 0)};
    sock_fprog const program{1, drop};
    for (int fd = 3; fd < 1024; ++fd) {
        int domain = 0;
        socklen_t size = sizeof domain;
        if (::getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &size) == 0 && domain == AF_INET)
            ::setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof program);
    }
}

TEST(SocketTransportLoss, OfAHostThatIsGoneWithDataUnderWayIsNoticed) {
    auto* const memory = ::mmap(nullptr, sizeof(std::atomic<int>), PROT_READ | PROT_WRITE,
                                MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    ASSERT_NE(memory, MAP_FAILED);
    auto& step = *new (memory) std::atomic<int>(0);
    processes("gone", {0, 1}).run([&step](Transport& self) {
        auto const wait_for = [&](int wanted) {
            for (int i = 0; i < 6000 && step < wanted; ++i) ::usleep(10'000);
            EXPECT_GE(step, wanted);
        };
        Bytes bytes(1000);
        if (self.rank() == 1) {
            conformance::receive(self, 0, 1, bytes);
            be_unreachable();
            step = 1;
            wait_for(2);
            return;
        }
        conformance::send(self, 1, 1, bytes);
        wait_for(1);
        EXPECT_TRUE(self.lost().empty());
        conformance::send(self, 1, 2, bytes);  // small: complete when the kernel has it
        bool noticed = false;
        for (int i = 0; i < 4000 && !noticed; ++i) {
            auto const lost = self.lost();
            noticed = std::find(lost.begin(), lost.end(), 1) != lost.end();
            ::usleep(10'000);
        }
        EXPECT_TRUE(noticed) << "not within 40 s";
        step = 2;
    });
    ::munmap(memory, sizeof(std::atomic<int>));
}

std::size_t available_memory() {
    std::ifstream file("/proc/meminfo");
    std::string name, unit;
    std::size_t kib = 0;
    while (file >> name >> kib >> unit)
        if (name == "MemAvailable:") return kib << 10;
    return 0;
}

/// Cheap to compute and check at any position.
std::byte expected(std::size_t i) { return static_cast<std::byte>(i * 7 + (i >> 8) + (i >> 31)); }

TEST(SocketTransportLarge, CarriesMoreThanTwoGibibytes) {
#if defined(SINEW_TEST_TSAN)
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
