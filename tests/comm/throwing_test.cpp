// SPDX-License-Identifier: Apache-2.0
// Ranks and user-defined operations that throw, and the errors that the other ranks (threads) get.
#include <latch>

#include "tests/comm/ranks.hpp"

namespace sinew::tests {
namespace {

using testing::AllOf;
using testing::HasSubstr;

constexpr CallOptions throwing_soon{.timeout = 300ms};

/// Runs `body` on rank 1 of `ranks`, which throws; the others call `call` and pass the text of
/// their error to `check`. Returns the text of the exception that run_thread_ranks rethrows.
std::string with_a_throwing_rank(int ranks, std::function<void(Communicator&)> const& call,
                                 std::function<void(std::string const&)> const& check) {
    std::latch all_are_there(
        ranks);  // a sinew barrier may end on one rank before it ends on another
    return thrown_by<std::logic_error>([&] {
        run_thread_ranks(ranks, [&](Communicator& comm) {
            comm.barrier();
            all_are_there.arrive_and_wait();
            if (comm.rank() == 1) throw std::logic_error("of mine");
            check(thrown_by<PeerLost>([&] { call(comm); }));
        });
    });
}

TEST(RankThatThrows, IsToldToTheOthersAndToTheCaller) {
    auto const call = [](Communicator& comm) { comm.barrier(); };
    auto const check = [](std::string const& what) {
        EXPECT_THAT(what, AllOf(HasSubstr("barrier() #2 stopped"), HasSubstr("(rank 1 on "),
                                HasSubstr("of mine")));
    };
    EXPECT_EQ(with_a_throwing_rank(4, call, check), "of mine");
}

TEST(RankThatThrows, EndsRequestsAndReceivesOfTheOthers) {
    std::vector<std::vector<float>> data(4, std::vector<float>(100000));
    with_a_throwing_rank(
        4,
        [&](Communicator& comm) {
            auto& mine = data[static_cast<std::size_t>(comm.rank())];
            Request const receive = comm.irecv(mine, any_source, 3, throwing_soon);
            thrown_by<PeerLost>([&] { comm.recv(mine, 1, 4); });
            comm.barrier();
        },
        [](std::string const& what) { EXPECT_THAT(what, HasSubstr("rank 1 on ")); });
}

TEST(RankThatThrows, EndsCommunicatorsItIsIn) {
    std::latch all_are_there(4);
    thrown_by<std::logic_error>([&] {
        run_thread_ranks(4, [&](Communicator& comm) {
            Communicator part = comm.split(comm.rank() % 2);
            comm.barrier();
            all_are_there.arrive_and_wait();
            if (comm.rank() == 1) throw std::logic_error("of mine");
            if (comm.rank() == 3)
                EXPECT_THAT(thrown_by<PeerLost>([&] { part.barrier(); }),
                            HasSubstr("rank 0 on "));  // as the part numbers its ranks
            else EXPECT_EQ(part.allreduce_value(1, sum), 2);
        });
    });
}

/// An allreduce whose operation throws `error` on rank 1. The others must be informed of it.
template <class Thrown, class Call>
void expect_operation_error_is_told(Thrown const& error, Call call) {
    std::latch all_are_there(4);
    Leaving leaving(3);
    run_thread_ranks(4, [&](Communicator& comm) {
        all_are_there.arrive_and_wait();
        auto const op = reduce_op<int>(
            [&, self = comm.rank()](int a, int b) {
                if (self == 1) throw error;
                return a + b;
            },
            Commutative::no, "mine");
        std::vector<int> data(10, 1);
        if (comm.rank() == 1) {
            EXPECT_THROW(call(comm, data, op), Thrown);
            EXPECT_THROW(comm.barrier(), Thrown);
            leaving.wait_for_others();
        } else {
            EXPECT_THAT(thrown_by<PeerLost>([&] {
                            call(comm, data, op);
                            comm.barrier();
                        }),
                        HasSubstr("rank 1 on "));
            leaving.one_is_through();
        }
    });
}

constexpr auto blocking = [](Communicator& comm, std::vector<int>& data, ReduceOp const& op) {
    comm.allreduce(data, op, {.algorithm = "recursive_doubling"});
};
constexpr auto waiting = [](Communicator& comm, std::vector<int>& data, ReduceOp const& op) {
    comm.iallreduce(data, op, {.algorithm = "recursive_doubling"}).wait();
};

TEST(OperationThatThrows, LosesTheCommunicator) {
    expect_operation_error_is_told(std::domain_error("in the operation"), blocking);
    expect_operation_error_is_told(std::domain_error("in the operation"), waiting);
}

TEST(OperationThatThrows, LosesTheCommunicatorByAnythingThrown) {
    expect_operation_error_is_told(42, blocking);
    expect_operation_error_is_told(42, waiting);
}

// A UsageError may also be thrown after the first message.
TEST(OperationThatThrows, LosesTheCommunicatorByAUsageError) {
    expect_operation_error_is_told(UsageError("in the operation"), blocking);
    expect_operation_error_is_told(UsageError("in the operation"), waiting);
}

TEST(OperationThatThrows, EndsInTheDestructorOfItsRequest) {
    run_thread_ranks(2, [](Communicator& comm) {
        auto const op = reduce_op<int>([](int, int) -> int { throw 42; });
        std::vector<int> data(10, 1);
        { Request const unwatched = comm.iallreduce(data, op); }
        EXPECT_ANY_THROW(comm.barrier());
    });
}

}  // namespace
}  // namespace sinew::tests
