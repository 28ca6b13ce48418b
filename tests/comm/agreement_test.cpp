// SPDX-License-Identifier: Apache-2.0
// SINEW_CHECK: if ranks make different calls, all of them get an error and can continue.
#include "src/base/text.hpp"
#include "tests/comm/ranks.hpp"
#include "tests/support/socket_ranks.hpp"

namespace sinew::tests {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using Kind = DataType::Kind;
using Call = std::function<void(Communicator&)>;

class Agreement : public testing::Test {
protected:
    /// Rank 1 of 3 makes another call than the others. All must get an error that names both calls.
    void expect_told(std::string const& usual, Call const& call, std::string const& odd,
                     Call const& odd_call) {
        run_thread_ranks(3, [&](Communicator& comm) {
            std::string const host = comm.nodes().host_of(0);
            comm.barrier();
            EXPECT_THAT(thrown_by<UsageError>([&] { (comm.rank() == 1 ? odd_call : call)(comm); }),
                        AllOf(HasSubstr(text("rank ", comm.rank(), " of 3 on ", host)),
                              HasSubstr("collective #2"),
                              HasSubstr(text("rank 0 on ", host, " called ", usual)),
                              HasSubstr(text("rank 1 on ", host, " called ", odd))));
            EXPECT_EQ(comm.allreduce_value(1, sum), 3);
        });
    }

private:
    Variable checked_{"SINEW_CHECK", "1"};
};

Call allreduce(std::size_t count, ReduceOp const& op = sum, std::string_view algorithm = "") {
    return [=](Communicator& comm) {
        std::vector<float> data(count);
        comm.allreduce(data, op, {.algorithm = algorithm});
    };
}

template <class T>
Call broadcast(int root) {
    return [=](Communicator& comm) {
        std::vector<T> data(6);
        comm.broadcast(data, root);
    };
}

TEST_F(Agreement, IsOnTheCollective) {
    expect_told("allreduce(f32 x 6, sum)", allreduce(6), "broadcast(f32 x 6, root 0)",
                broadcast<float>(0));
    expect_told("allreduce(f32 x 6, sum)", allreduce(6), "barrier()",
                [](Communicator& comm) { comm.barrier(); });
}

TEST_F(Agreement, IsOnTheType) {
    expect_told("broadcast(f32 x 6, root 0)", broadcast<float>(0), "broadcast(f64 x 6, root 0)",
                broadcast<double>(0));
    struct Three {
        char bytes[3];
    };
    struct Five {
        char bytes[5];
    };
    expect_told("broadcast(opaque(3) x 6, root 0)", broadcast<Three>(0),
                "broadcast(opaque(5) x 6, root 0)", broadcast<Five>(0));
}

TEST_F(Agreement, IsOnTheCount) {
    expect_told("allreduce(f32 x 6, sum)", allreduce(6), "allreduce(f32 x 7, sum)", allreduce(7));
}

TEST_F(Agreement, IsOnTheRoot) {
    expect_told("broadcast(f32 x 6, root 0)", broadcast<float>(0), "broadcast(f32 x 6, root 2)",
                broadcast<float>(2));
}

TEST_F(Agreement, IsOnTheOperation) {
    expect_told("allreduce(f32 x 6, sum)", allreduce(6), "allreduce(f32 x 6, max)",
                allreduce(6, max));
}

// Regression: a user-defined operation once indexed past the table of names.
TEST_F(Agreement, IsOnAUserDefinedOperation) {
    auto const named = [](std::string const& name) {
        return reduce_op<float>([](float a, float b) { return a + b; }, Commutative::yes, name);
    };
    expect_told("allreduce(f32 x 6, sum)", allreduce(6), "allreduce(f32 x 6, mine)",
                allreduce(6, named("mine")));
    expect_told("allreduce(f32 x 6, mine)", allreduce(6, named("mine")), "barrier()",
                [](Communicator& comm) { comm.barrier(); });
    expect_told("allreduce(f32 x 6, mine)", allreduce(6, named("mine")),
                "allreduce(f32 x 6, yours)", allreduce(6, named("yours")));
}

TEST_F(Agreement, IsOnTheAlgorithm) {
    expect_told("allreduce(f32 x 6, sum)", allreduce(6, sum, "ring"),
                "allreduce(f32 x 6, sum) with another algorithm", allreduce(6, sum, "tree"));
}

TEST_F(Agreement, IsOnTheCountsOfAllRanks) {
    auto const gather = [](std::vector<std::size_t> const& counts) {
        return [counts](Communicator& comm) {
            std::vector<float> data(6);
            comm.allgatherv(data, counts);
        };
    };
    expect_told("allgatherv(f32 x 6, counts with hash ", gather({1, 2, 3}),
                "allgatherv(f32 x 6, counts with hash ", gather({2, 2, 2}));
}

TEST_F(Agreement, IsOnNonBlockingCalls) {
    auto const start = [](std::size_t count) {
        return [count](Communicator& comm) {
            std::vector<float> data(count);
            comm.iallreduce(data, sum).wait();
        };
    };
    expect_told("allreduce(f32 x 6, sum)", start(6), "allreduce(f32 x 9, sum)", start(9));
}

TEST_F(Agreement, IsNotOnWhatCountsOnTheRootAlone) {
    run_thread_ranks(3, [](Communicator& comm) {
        bool const at_root = comm.rank() == 2;
        std::vector<float> data(2, 1), out(at_root ? 6 : 0);
        Buffer const nowhere(nullptr, 0, Kind::u8);
        comm.gather(data, at_root ? Buffer(out) : nowhere, 2);
        comm.reduce(data, at_root ? Buffer(out.data(), 2, Kind::f32) : nowhere, sum, 2);
        comm.scatter(at_root ? ConstBuffer(out) : ConstBuffer(nowhere), data, 2);
        EXPECT_EQ(comm.allreduce_value(1, sum), 3);
    });
}

// Parts must agree; their offsets and the rest of the buffer may differ between ranks.
TEST_F(Agreement, IsNotOnOffsets) {
    run_thread_ranks(3, [](Communicator& comm) {
        auto const self = static_cast<std::size_t>(comm.rank());
        std::vector<std::size_t> const counts{1, 2, 3}, offsets{self, self + 1, self + 3};
        std::vector<float> data(6 + self, 1);
        comm.reduce_scatter(data, Parts(counts, offsets), sum);
        EXPECT_EQ(data[0], 3);
        comm.allgatherv(data, Parts(counts, offsets));
    });
}

TEST_F(Agreement, IsNotOnWorkingInPlace) {
    run_thread_ranks(3, [](Communicator& comm) {
        std::vector<float> in(2, 1), out(2), all(6), whole(6, 1);
        if (comm.rank() == 1) {
            comm.allreduce(in, sum);
            comm.allgather(all);
            comm.reduce_scatter_block(whole, sum);
        } else {
            comm.allreduce(in, out, sum);
            comm.allgather(in, all);
            comm.reduce_scatter_block(whole, out, sum);
        }
        EXPECT_EQ(comm.allreduce_value(1, sum), 3);
    });
}

// Without SINEW_CHECK, over threads and over sockets: a message shorter than its receive is
// detected by its length.
class Length : public testing::TestWithParam<bool> {
protected:
    /// Rank 1 of 3 makes another call than the others. Rank `victim` must get an error that names
    /// both calls; the others must be informed that it gave up.
    static void expect_told(int victim, std::string const& words, Call const& call,
                            Call const& odd_call) {
        Leaving joined(3);  // a rank that gives up early would disturb those that join
        auto const body = [&](Communicator& comm) {
            joined.one_is_through();
            joined.wait_for_others();
            auto const run = [&] {
                (comm.rank() == 1 ? odd_call : call)(comm);
                comm.barrier();
            };
            if (comm.rank() == victim) {
                EXPECT_THAT(thrown_by<BackendError>(run),
                            AllOf(HasSubstr(text("rank ", victim, " of 3 on ")), HasSubstr(words),
                                  HasSubstr("SINEW_CHECK=1")));
            } else {
                EXPECT_THAT(thrown_by<PeerLost>(run), HasSubstr(words));
            }
        };
        if (!GetParam()) return run_thread_ranks(3, body);
        testing_support::run_socket_ranks({0, 0, 1}, body);
    }

private:
    Variable unchecked_{"SINEW_CHECK", "0"};
};

INSTANTIATE_TEST_SUITE_P(OverThreadsAndSockets, Length, testing::Bool(),
                         [](auto const& of) { return of.param ? "sockets" : "threads"; });

TEST_P(Length, OfABroadcastIsLookedAt) {
    auto const broadcast_of = [](std::size_t count) {
        return [=](Communicator& comm) {
            std::vector<float> data(count);
            comm.broadcast(data, 0, {.algorithm = "linear"});
        };
    };
    expect_told(1, " sent 16 bytes where 24 were expected", broadcast_of(4), broadcast_of(6));
}

TEST_P(Length, OfAGatherIsLookedAt) {
    auto const gather_of = [](std::size_t count) {
        return [=](Communicator& comm) {
            std::vector<float> mine(count), all(comm.rank() == 0 ? 3 * count : 0);
            comm.igather(mine, all, 0, {.algorithm = "linear"}).wait();
        };
    };
    expect_told(0, " sent 12 bytes where 20 were expected", gather_of(5), gather_of(3));
}

}  // namespace
}  // namespace sinew::tests
