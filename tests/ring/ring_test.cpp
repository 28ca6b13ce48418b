// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <netinet/in.h>
#include <sched.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdlib>
#include <map>
#include <set>
#include <sinew/pool.hpp>
#include <sinew/queue.hpp>
#include <sinew/ring.hpp>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "src/base/system/unique_fd.hpp"
#include "tests/support/leak_check.hpp"

namespace sinew {
namespace {

using namespace std::chrono_literals;
using testing::AllOf;
using testing::Each;
using testing::ElementsAre;
using testing::Field;
using testing::HasSubstr;
using testing::SizeIs;

// Members report findings by an exception, like any other failure, or through a queue.
void require(bool holds, std::string const& what) {
    if (!holds) throw std::logic_error(what);
}

class RingOf : public testing::TestWithParam<int> {
protected:
    testing_support::LeakCheck leaks;
};

TEST_P(RingOf, KnowsItsMembers) {
    Ring ring(
        GetParam(),
        [](RingMember& me) {
            auto const& members = me.members();
            require(static_cast<int>(members.size()) == me.size(), "as many members as the size");
            require(members[static_cast<std::size_t>(me.rank())].pid == ::getpid(), "own pid");
            std::set<pid_t> pids;
            std::set<std::uint16_t> ports;
            for (auto const& node : members) {
                require(!node.host.empty() && node.address == "127.0.0.1", "host and address");
                pids.insert(node.pid);
                ports.insert(node.port);
            }
            require(pids.size() == members.size() && ports.size() == members.size(), "all differ");
            require(!ports.contains(0), "ports");
            require(me.left().rank == (me.rank() + me.size() - 1) % me.size(), "left");
            require(me.right().rank == (me.rank() + 1) % me.size(), "right");
            require(me.communicator().rank() == me.rank(), "rank of the communicator");
            require(me.communicator().size() == me.size(), "size of the communicator");
            require(me.epoch() == 0 && me.name() == "first", "epoch and name");
        },
        {.name = "first"});
    auto const statuses = ring.run();
    ASSERT_THAT(statuses, SizeIs(GetParam()));
    EXPECT_THAT(statuses, Each(Field(&RingStatus::end, "returned")));
    for (int rank = 0; rank < GetParam(); ++rank)
        EXPECT_EQ(statuses[static_cast<std::size_t>(rank)].rank, rank);
}

TEST_P(RingOf, Reduces) {
    Ring ring(GetParam(), [](RingMember& me) {
        for (std::size_t const count : {std::size_t{1}, std::size_t{1000}, std::size_t{200'000}}) {
            std::vector<double> data(count, me.rank() + 1);
            me.communicator().allreduce(data, sum);
            double const expected = me.size() * (me.size() + 1) / 2;
            for (double const each : data) require(each == expected, "sum");
        }
    });
    ring.run();
}

INSTANTIATE_TEST_SUITE_P(Sizes, RingOf, testing::Values(1, 2, 4));

class RingTest : public testing::Test {
protected:
    testing_support::LeakCheck leaks;
};

// Data that init leaves for the target, as a program would.
std::map<std::string, std::vector<double>> loaded;

void load(RingMember& me, std::string const& name, std::vector<double> const& values, int scale) {
    loaded[name] = values;
    for (auto& each : loaded[name]) each *= scale + me.rank();
}
void use(RingMember& me) {
    auto const& values = loaded.at("weights");
    require(values == std::vector<double>{10.0 + me.rank(), 20.0 + 2 * me.rank()}, "values");
}

TEST_F(RingTest, RunsInitWithItsArgumentsFirst) {
    // An int is passed for a double, a literal for a string.
    Ring ring(2, task<load>, task<use>, {}, "weights", std::vector{1.0, 2.0}, 10);
    ring.run();
    EXPECT_TRUE(loaded.empty());
}

struct Scaled {
    double factor = 0;
    std::vector<int> more;
    template <class Archive>
    void serialize(Archive& archive) {
        archive(factor, more);
    }
    void operator()(RingMember&) const {
        require(factor == 2.5 && more == std::vector{1, 2, 3}, "state");
    }
};

int seen_rank = -1, seen_size = -1;
void note(int rank, int size) {
    seen_rank = rank;
    seen_size = size;
}

TEST_F(RingTest, TakesFunctionsOfManyKinds) {
    Ring(2, Scaled{2.5, {1, 2, 3}}, Scaled{2.5, {1, 2, 3}}).run();
    Ring(2, task<note>, [](RingMember& me) {
        require(seen_rank == me.rank() && seen_size == 2, "Fiber's signature");
    }).run();
    Ring(1, [] {}).run();
    Ring(2, [](auto& me) { require(me.size() == 2, "generic"); }).run();
    Ring(
        1, [](int a, int b) { require(a == 3 && b == 4, "arguments alone"); }, [] {}, {}, 3, 4)
        .run();
}

TEST_F(RingTest, SetsTheEnvironmentBeforeInit) {
    auto const init = [](RingMember& me) {
        auto const is = [](char const* name, std::string const& value) {
            char const* const found = std::getenv(name);
            require(found != nullptr && found == value, std::string(name) + " is not " + value);
        };
        auto const rank = std::to_string(me.rank()), size = std::to_string(me.size());
        is("RANK", rank);
        is("WORLD_SIZE", size);
        is("LOCAL_RANK", rank);
        is("LOCAL_WORLD_SIZE", size);
        is("GROUP_RANK", "0");
        is("MASTER_ADDR", me.members()[0].address);
        is("MASTER_PORT", std::to_string(me.members()[0].port));
        is("SINEW_RING", "env");
        is("SINEW_RING_RANK", rank);
        is("SINEW_RING_SIZE", size);
        is("SINEW_RING_EPOCH", "0");
    };
    Ring(3, init, [] {}, {.name = "env"}).run();
    EXPECT_EQ(std::getenv("SINEW_RING"), nullptr);
}

// As torch's store does: member 0 listens where the others connect, while the port is reserved.
TEST_F(RingTest, KeepsThePortOfEachForItsOwn) {
    Ring(3, [](RingMember& me) {
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        address.sin_port = htons(me.members()[0].port);
        auto const* const where = reinterpret_cast<sockaddr const*>(&address);
        UniqueFd const fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
        if (me.rank() == 0) {
            int const yes = 1;
            ::setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
            require(::bind(fd.get(), where, sizeof address) == 0, "bind");
            require(::listen(fd.get(), 4) == 0, "listen");
        }
        me.communicator().barrier();
        if (me.rank() != 0) require(::connect(fd.get(), where, sizeof address) == 0, "connect");
        me.communicator().barrier();
        me.release_port();
    }).run();
}

TEST_F(RingTest, PassesNothingOfItselfToPoolsOfItsMembers) {
    Ring(2, [](RingMember& me) {
        Pool pool(1);
        auto const found = pool.map(
            [](int) { return std::getenv("RANK") != nullptr || std::getenv("SINEW_RING_RANK"); },
            std::vector{1});
        require(!found.at(0), "a worker is no member");
        double one = me.communicator().allreduce_value(1.0, sum);
        require(one == 2, "sum");
    }).run();
}

TEST_F(RingTest, TakesHandlesAsArguments) {
    Queue<int> queue;
    auto const init = [](RingMember& me, Queue<int> results) { results.put(me.rank()); };
    Ring(
        3, init, [] {}, {}, queue)
        .run();
    std::set<int> ranks;
    for (int i = 0; i < 3; ++i) ranks.insert(queue.get());
    EXPECT_THAT(ranks, ElementsAre(0, 1, 2));
}

TEST_F(RingTest, CanBeRunAgainAndBesideOthers) {
    auto const target = [](RingMember& me) {
        require(me.communicator().allreduce_value(1, sum) == 2, "sum");
    };
    Ring one(2, target), other(2, target);
    EXPECT_NE(one.name(), other.name());
    one.run();
    other.run();
    EXPECT_THAT(one.run(), SizeIs(2));
}

struct OnOneCore {
    static constexpr Meta meta = {.cpu = 1};
    void operator()(RingMember&) const {
        cpu_set_t mine;
        CPU_ZERO(&mine);
        ::sched_getaffinity(0, sizeof mine, &mine);
        require(CPU_COUNT(&mine) == 1, "one core");
    }
};

TEST_F(RingTest, HasWhatItWasMeantToHaveOfTheHost) {
    EXPECT_THAT(Ring(2, OnOneCore()).run(), SizeIs(2));
    RingOptions greedy;
    greedy.meta.cpu = 1'000'000;
    EXPECT_THROW(Ring(
                     2, [] {}, greedy)
                     .run(),
                 UsageError);
}

TEST_F(RingTest, OfNobodyHasNoStatuses) {
    EXPECT_TRUE(Ring(0, [] {}).run().empty());
}

TEST_F(RingTest, RefusesWhatCannotBe) {
    EXPECT_THROW(Ring(-1, [] {}).run(), UsageError);
    EXPECT_THROW(Ring(1, [] {}, {.max_restarts = -1}).run(), UsageError);
}

TEST_F(RingTest, WaitsForAllBeforeAnybodyLeaves) {
    Ring(2, [](RingMember& me) {
        // The first member has returned long before the second receives its message.
        std::vector<double> data(10, 1);
        if (me.rank() == 0) me.communicator().send(std::span(data), 1);
        else {
            std::this_thread::sleep_for(300ms);
            me.communicator().recv(std::span(data), 0);
        }
    }).run();
}

}  // namespace
}  // namespace sinew
