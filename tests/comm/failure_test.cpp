// SPDX-License-Identifier: Apache-2.0
// Ranks that do not take part, throw or leave, and the errors that the other ranks (threads) get.
#include <filesystem>

#include "src/base/text.hpp"
#include "tests/comm/ranks.hpp"

namespace sinew::tests {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

/// On each of `ranks` but `absent`, makes the call and passes the text of Timeout or PeerLost to
/// `check`.
void without(int absent, int ranks, std::function<void(Communicator&)> const& call,
             std::function<void(Communicator&, std::string const&)> const& check) {
    Leaving leaving(ranks - 1);
    run_thread_ranks(ranks, [&](Communicator& comm) {
        comm.barrier();
        if (comm.rank() == absent) return leaving.wait_for_others();
        check(comm, loss_seen_by([&] { call(comm); }));
        leaving.one_is_through();
    });
}

constexpr CallOptions soon{.timeout = 300ms};

TEST(AbsentRank, IsNamedWithItsHostAndLastOperation) {
    std::vector<std::string> seen(4);
    without(
        2, 4,
        [](Communicator& comm) {
            std::vector<float> data(1000);
            comm.allreduce(data, sum, soon);
        },
        [&](Communicator& comm, std::string const& what) {
            std::string const host = comm.nodes().host_of(0);
            EXPECT_THAT(what, StartsWith(text("rank ", comm.rank(), " of 4 on ", host,
                                              ": allreduce(f32 x 1000, sum) #2 stopped after 0.")));
            EXPECT_THAT(what, HasSubstr(text("not arrived: rank 2 on ", host,
                                             " (its last operation was barrier #1)")));
            EXPECT_THAT(what, HasSubstr(text(", waiting for rank ")));
        });
}

TEST(AbsentRank, IsNamedTogetherWithTheStep) {
    Variable const unchecked("SINEW_CHECK", "0");  // else ranks wait before the first step
    without(
        0, 3,
        [](Communicator& comm) {
            std::vector<float> data(1000);
            comm.allreduce(data, sum, {.algorithm = "recursive_doubling", .timeout = 300ms});
        },
        [](Communicator&, std::string const& what) {
            EXPECT_THAT(what, testing::ContainsRegex("at step [0-9]+ of [0-9]+"));
        });
}

TEST(AbsentRank, EndsEveryCollective) {
    using Call = std::function<void(Communicator&, std::vector<int>&)>;
    for (Call const &call : std::vector<Call>{
             [](Communicator&c, std::vector<int>&v) { c.allreduce(v, sum, soon); },
             [](Communicator&c, std::vector<int>&v) { c.reduce_scatter_block(v, sum, soon); },
             [](Communicator&c, std::vector<int>&v) { c.allgather(v, soon); },
             [](Communicator&c, std::vector<int>&v) { c.alltoall(v, soon); },
             [](Communicator&c, std::vector<int>&v) { c.broadcast(v, 1, soon); },
             [](Communicator&c, std::vector<int>&v) { c.reduce(v, sum, 1, soon); },
             [](Communicator&c, std::vector<int>&v) { c.gather(v, 1, soon); },
             [](Communicator&c, std::vector<int>&v) { c.scatter(v, 1, soon); },
             [](Communicator&c, std::vector<int>&v) { c.scan(v, sum, soon); },
             [](Communicator&c, std::vector<int>&) { c.barrier(soon); }})
        without(
            1, 3,
            [&](Communicator& comm) {
                std::vector<int> data(300000);
                // A rank whose part does not depend on the absent rank ends the call, and waits
                // here.
                call(comm, data);
                comm.barrier(soon);
            },
            [](Communicator&, std::string const& what) {
                EXPECT_THAT(what, HasSubstr("not arrived: rank 1 on "));
            });
}

TEST(AbsentRank, RunsIntoTheDeadlineOfTheEnvironment) {
    Variable const timeout("SINEW_TIMEOUT", "300ms"), late("SINEW_LATE_TIMEOUT", "300ms");
    without(
        1, 2, [](Communicator& comm) { comm.barrier(); },
        [](Communicator&, std::string const& what) {
            EXPECT_THAT(what, HasSubstr("SINEW_TIMEOUT"));
        });
}

TEST(AbsentRank, EndsARequestOnce) {
    std::vector<float> data(5000);
    without(
        1, 2,
        [&](Communicator& comm) {
            Request request = comm.iallreduce(data, sum, soon);
            loss_seen_by([&] { request.wait(); });
            EXPECT_TRUE(request.test());  // the error was thrown before
            request.wait();
            comm.barrier();
        },
        [](Communicator&, std::string const& what) {
            EXPECT_THAT(what, HasSubstr("allreduce(f32 x 5000, sum) #2 stopped"));
        });
}

TEST(AbsentRank, EndsAReceive) {
    without(
        1, 2,
        [](Communicator& comm) {
            int value = 0;
            comm.recv(std::span(&value, 1), 1, 5, soon);
        },
        [](Communicator&, std::string const& what) {
            EXPECT_THAT(what, AllOf(HasSubstr("recv(i32 x 1, from 1, tag 5) stopped after"),
                                    HasSubstr("waiting for rank 1 on "),
                                    HasSubstr("the other side answers, but sent nothing")));
        });
}

TEST(AbsentRank, EndsARequestThatIsPolled) {
    without(
        1, 2,
        [](Communicator& comm) {
            Request request = comm.ibarrier(soon);
            while (!request.test()) std::this_thread::yield();
        },
        [](Communicator&, std::string const& what) { EXPECT_THAT(what, HasSubstr("barrier")); });
}

TEST(AbsentRank, StaysOutOfACommunicatorOfTheOthers) {
    run_thread_ranks(3, [](Communicator& comm) {
        Communicator part = comm.split(comm.rank() == 2 ? 1 : 0);
        if (comm.rank() == 2) return;
        EXPECT_EQ(part.allreduce_value(1, sum, soon), 2);
    });
}

TEST(LostCommunicator, RepeatsItsErrorInEveryCall) {
    without(
        1, 3, [](Communicator& comm) { comm.barrier(soon); },
        [](Communicator& comm, std::string const& first) {
            int value = 1;
            std::span<int> const one(&value, 1);
            EXPECT_EQ(loss_seen_by([&] { comm.barrier(); }), first);
            EXPECT_EQ(loss_seen_by([&] { comm.iallreduce(one, sum); }), first);
            EXPECT_EQ(loss_seen_by([&] { comm.send(one, 0); }), first);
            EXPECT_EQ(loss_seen_by([&] { comm.isend(one, 0); }), first);
            EXPECT_EQ(loss_seen_by([&] { comm.recv(one, any_source); }), first);
            EXPECT_EQ(loss_seen_by([&] { comm.dup(); }), first);
        });
}

TEST(LostCommunicator, LeavesOthersAlone) {
    Leaving leaving(1);
    run_thread_ranks(2, [&](Communicator& comm) {
        Communicator copy = comm.dup();
        if (comm.rank() == 0) {
            loss_seen_by([&] { copy.barrier(soon); });
            leaving.one_is_through();
        } else {
            leaving.wait_for_others();
        }
        EXPECT_EQ(comm.allreduce_value(1, sum), 2);
    });
}

TEST(LostCommunicator, EndsWhatIsPending) {
    Leaving leaving(1);
    run_thread_ranks(2, [&](Communicator& comm) {
        if (comm.rank() == 1) return leaving.wait_for_others();
        std::vector<double> a(100), b(100), c(100);
        Request receive = comm.irecv(c, 1);
        Request first = comm.iallreduce(a, sum, soon);
        Request second = comm.iallreduce(b, sum);
        loss_seen_by([&] { second.wait(); });
        loss_seen_by([&] { first.wait(); });
        loss_seen_by([&] { receive.wait(); });  // long before its deadline
        leaving.one_is_through();
    });
}

std::size_t threads_of_this_process() {
    auto const all = std::filesystem::directory_iterator("/proc/self/task");
    return static_cast<std::size_t>(std::distance(begin(all), end(all)));
}

TEST(Failure, LeavesNoThreadBehind) {
    auto const before = threads_of_this_process();
    for (int i = 0; i < 5; ++i)
        without(
            1, 4,
            [](Communicator& comm) {
                Request const pending = comm.ibarrier(soon);
                comm.barrier(soon);
            },
            [](Communicator&, std::string const&) {});
    wait_until([&] { return threads_of_this_process() <= before; });
}

}  // namespace
}  // namespace sinew::tests
