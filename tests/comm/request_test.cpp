// SPDX-License-Identifier: Apache-2.0
// Non-blocking calls and messages; over threads, and over MPI at each thread level.
#include <filesystem>
#include <fstream>
#include <numeric>
#include <utility>

#include "tests/comm/ranks.hpp"

namespace sinew::tests {
namespace {

using testing::AllOf;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;

/// Ends what would hang.
constexpr CallOptions bounded{.timeout = long_time};

int next(Communicator const& comm) { return (comm.rank() + 1) % comm.size(); }
int previous(Communicator const& comm) { return (comm.rank() + comm.size() - 1) % comm.size(); }
std::span<int> one(int& value) { return {&value, 1}; }

TEST(Request, IsDoneWhenEmpty) {
    Request request;
    EXPECT_TRUE(request.test());
    EXPECT_TRUE(request.wait_for(0ns));
    EXPECT_EQ(request.wait().source, -1);
}

TEST(Request, TellsWhatAReceiveBrought) {
    on_ranks(2, [](Communicator& comm) {
        std::vector<int> data(5, comm.rank());
        if (comm.rank() == 0) return comm.send(std::span(data).first(3), 1, 7, bounded);
        Received const received = comm.irecv(data, any_source, 7, bounded).wait();
        EXPECT_EQ(received.source, 0);
        EXPECT_EQ(received.tag, 7);
        EXPECT_EQ(received.count, 3U);
        EXPECT_THAT(data, ElementsAre(0, 0, 0, 1, 1));
    });
}

TEST(Request, IsNotDoneBeforeItsMessage) {
    on_ranks(2, [](Communicator& comm) {
        int value = comm.rank();
        if (comm.rank() == 0) {
            comm.recv(one(value), 1, 1, bounded);
            return comm.send(one(value), 1, 0, bounded);
        }
        Request request = comm.irecv(one(value), 0, 0, bounded);
        EXPECT_FALSE(request.test());
        EXPECT_FALSE(request.wait_for(1ms));
        EXPECT_FALSE(request.wait_for(-1ns));
        int go = 1;
        comm.send(one(go), 0, 1, bounded);
        EXPECT_TRUE(request.wait_for(long_time));
        EXPECT_TRUE(request.test());
    });
}

TEST(Request, EndsByBeingTested) {
    on_ranks(4, [](Communicator& comm) {
        std::vector<float> data(100000, 1);
        Request request = comm.iallreduce(data, sum, bounded);
        while (!request.test()) std::this_thread::yield();
        EXPECT_THAT(data, Each(static_cast<float>(comm.size())));
    });
}

TEST(Request, MayBeWaitedForInAnyOrder) {
    on_ranks(4, [](Communicator& comm) {
        std::vector<std::vector<int>> data;
        for (int i = 0; i < 10; ++i) data.emplace_back(std::size_t{1} << i, i);
        std::vector<Request> requests;
        for (auto& each : data) requests.push_back(comm.iallreduce(each, sum, bounded));
        std::reverse(requests.begin(), requests.end());
        for (Request& request : requests) request.wait();
        for (int i = 0; i < 10; ++i)
            EXPECT_THAT(data[static_cast<std::size_t>(i)], Each(i * comm.size()));
    });
}

TEST(Request, KeepsItsBufferUntilItIsDestroyed) {
    on_ranks(4, [](Communicator& comm) {
        std::vector<double> data(50000, 1);
        { Request const unwatched = comm.iallreduce(data, sum, bounded); }
        EXPECT_THAT(data, Each(comm.size()));
    });
}

TEST(Request, MovesAndIsFinishedBeforeItIsReplaced) {
    on_ranks(3, [](Communicator& comm) {
        std::vector<int> first(1000, 1), second(1000, 2);
        Request a = comm.iallreduce(first, sum, bounded);
        Request b = std::move(a);
        EXPECT_TRUE(a.test());  // NOLINT: a moved-from request is empty
        b = comm.iallreduce(second, sum, bounded);
        EXPECT_THAT(first, Each(comm.size()));
        b.wait();
        EXPECT_THAT(second, Each(2 * comm.size()));
    });
}

TEST(Request, OutlivesItsCommunicator) {
    on_ranks(3, [](Communicator& comm) {
        std::vector<int> data(10000, 1);
        Request request;
        {
            Communicator copy = comm.dup();
            request = copy.iallreduce(data, sum, bounded);
        }
        request.wait();
        EXPECT_THAT(data, Each(comm.size()));
    });
}

TEST(Request, HasADeadlineBeyondTheEndOfTime) {
    on_ranks(2, [](Communicator& comm) {
        std::vector<int> data(10, 1);
        Request request = comm.iallreduce(data, sum, {.timeout = std::chrono::nanoseconds::max()});
        EXPECT_TRUE(request.wait_for(std::chrono::nanoseconds::max()));
        EXPECT_THAT(data, Each(comm.size()));
    });
}

// Each rank waits on another communicator first: the one that it does not wait for must get on.
TEST(Requests, OfTwoCommunicatorsMayBeStartedInAnyOrder) {
    on_ranks(2, [](Communicator& comm) {
        Communicator a = comm.dup(), b = comm.dup();
        for (int i = 0; i < 20; ++i) {
            std::vector<float> x(30000, 1), y(30000, 2);
            Communicator& first = comm.rank() == 0 ? a : b;
            Communicator& second = comm.rank() == 0 ? b : a;
            auto& of_first = comm.rank() == 0 ? x : y;
            auto& of_second = comm.rank() == 0 ? y : x;
            Request one = first.iallreduce(of_first, sum, bounded);
            Request other = second.iallreduce(of_second, sum, bounded);
            one.wait();
            other.wait();
            EXPECT_THAT(x, Each(2.0F));
            EXPECT_THAT(y, Each(4.0F));
        }
    });
}

TEST(Requests, ProgressWhileABlockingCallWaitsElsewhere) {
    on_ranks(2, [](Communicator& comm) {
        Communicator other = comm.dup();
        std::vector<float> data(300000, 1);
        Request request = comm.iallreduce(data, sum, bounded);
        if (comm.rank() == 1) request.wait();  // needs rank 0, which is in the barrier already
        other.barrier(bounded);
        request.wait();
        EXPECT_THAT(data, Each(2.0F));
    });
}

TEST(Requests, ProgressWhileAMessageIsWaitedFor) {
    on_ranks(2, [](Communicator& comm) {
        std::vector<float> data(300000, 1);
        int value = 0;
        Request request = comm.iallreduce(data, sum, bounded);
        if (comm.rank() == 1) {
            request.wait();
            return comm.send(one(value), 0, 0, bounded);
        }
        comm.recv(one(value), 1, 0, bounded);
        request.wait();
        EXPECT_THAT(data, Each(2.0F));
    });
}

TEST(Requests, AndBlockingCallsKeepTheirOrder) {
    on_ranks(4, [](Communicator& comm) {
        std::vector<int> pending(1000, 1), now(10, comm.rank());
        Request request = comm.iallreduce(pending, sum, bounded);
        comm.allreduce(now, max, bounded);
        EXPECT_THAT(now, Each(comm.size() - 1));
        EXPECT_TRUE(request.test());  // it came first
        EXPECT_THAT(pending, Each(comm.size()));
    });
}

// Rank 1 does not call the library until rank 0 has the result, which takes rank 1's part.
TEST(Requests, ProgressWithoutAnyCall) {
    on_ranks(2, [](Communicator& comm) {
        if (comm.transport().threading() == Threading::caller)
            return;  // below MPI_THREAD_MULTIPLE only calls make progress
        std::string path =
            (std::filesystem::temp_directory_path() / "sinew-progress-XXXXXX").string();
        if (comm.rank() == 0) {
            ASSERT_NE(::mkdtemp(path.data()), nullptr);
        }
        comm.broadcast(path, 0, bounded);
        std::vector<float> data(2 << 20, 1);
        Request request = comm.iallreduce(data, sum, bounded);
        auto const sign = std::filesystem::path(path) / "done";
        if (comm.rank() == 0) {
            request.wait();
            std::ofstream(sign) << "done";
        } else {
            wait_until([&] { return std::filesystem::exists(sign); });
            request.wait();
        }
        EXPECT_EQ(std::accumulate(data.begin(), data.end(), 0.0), 2.0 * (2 << 20));
        comm.barrier(bounded);
        if (comm.rank() == 0) std::filesystem::remove_all(path);
    });
}

TEST(Messages, MayBeSentBeforeTheyAreReceived) {
    on_ranks(2, [](Communicator& comm) {
        for (std::size_t const count : {0U, 1U, 1000U, 100000U}) {
            std::vector<int> data(count, 7 + comm.rank());
            if (comm.rank() == 0) {
                Request request = comm.isend(data, 1, 3, bounded);
                comm.barrier(bounded);
                request.wait();
            } else {
                comm.barrier(bounded);
                EXPECT_EQ(comm.recv(data, 0, 3, bounded).count, count);
                EXPECT_THAT(data, Each(7));
            }
        }
    });
}

TEST(Messages, MayBeReceivedBeforeTheyAreSent) {
    on_ranks(2, [](Communicator& comm) {
        for (std::size_t const count : {0U, 1U, 1000U, 100000U}) {
            std::vector<int> data(count, comm.rank());
            Request receive;
            if (comm.rank() == 1) receive = comm.irecv(data, 0, 3, bounded);
            comm.barrier(bounded);
            if (comm.rank() == 0) comm.send(data, 1, 3, bounded);
            receive.wait();
            EXPECT_THAT(data, Each(0));
        }
    });
}

TEST(Messages, OfOneTagKeepTheirOrder) {
    on_ranks(2, [](Communicator& comm) {
        std::vector<int> numbers(200);
        std::vector<Request> requests;
        std::iota(numbers.begin(), numbers.end(), comm.rank() * 1000);
        for (int& number : numbers)
            requests.push_back(comm.rank() == 0 ? comm.isend(one(number), 1, 4, bounded)
                                                : comm.irecv(one(number), 0, 4, bounded));
        for (Request& request : requests) request.wait();
        for (int i = 0; i < 200; ++i) EXPECT_EQ(numbers[static_cast<std::size_t>(i)] % 1000, i);
        EXPECT_EQ(numbers.front(), 0);
    });
}

TEST(Messages, AreMatchedByTag) {
    on_ranks(2, [](Communicator& comm) {
        int low = 1, high = 2;
        int const top = comm.max_tag();
        if (comm.rank() == 0) {
            Request const first = comm.isend(one(low), 1, 0, bounded);
            return comm.send(one(high), 1, top, bounded);
        }
        low = high = 0;
        EXPECT_EQ(comm.recv(one(high), 0, top, bounded).tag, top);
        EXPECT_EQ(comm.recv(one(low), 0, 0, bounded).tag, 0);
        EXPECT_EQ(low, 1);
        EXPECT_EQ(high, 2);
    });
}

TEST(Messages, ComeFromAnySource) {
    on_ranks(4, [](Communicator& comm) {
        int self = comm.rank();
        if (self != 0) return comm.send(one(self), 0, 9, bounded);
        std::vector<bool> seen(static_cast<std::size_t>(comm.size()));
        for (int i = 1; i < comm.size(); ++i) {
            int value = -1;
            EXPECT_EQ(comm.recv(one(value), any_source, 9, bounded).source, value);
            seen.at(static_cast<std::size_t>(value)) = true;
        }
        EXPECT_EQ(std::count(seen.begin(), seen.end(), true), comm.size() - 1);
    });
}

TEST(Messages, GoAroundARing) {
    on_ranks(4, [](Communicator& comm) {
        std::vector<int> out(20000, comm.rank()), in(20000);
        Received const received = comm.sendrecv(out, next(comm), in, previous(comm), 2, bounded);
        EXPECT_EQ(received.source, previous(comm));
        EXPECT_EQ(received.count, 20000U);
        EXPECT_THAT(in, Each(previous(comm)));
    });
}

TEST(Messages, MayGoToTheirSender) {
    on_ranks(2, [](Communicator& comm) {
        int out = 5, in = 0;
        EXPECT_EQ(comm.sendrecv(one(out), comm.rank(), one(in), comm.rank(), 2, bounded).count, 1U);
        EXPECT_EQ(in, 5);
    });
}

TEST(Messages, TooLongForTheirReceiveAreNamed) {
    on_ranks(2, [](Communicator& comm) {
        std::vector<int> data(comm.rank() == 0 ? 10 : 5);
        if (comm.rank() == 0) return comm.send(data, 1, 6, bounded);
        EXPECT_THAT(thrown_by<BackendError>([&] { comm.recv(data, 0, 6, bounded); }),
                    AllOf(HasSubstr("rank 1 of 2"), HasSubstr("from rank 0"), HasSubstr("longer")));
        EXPECT_THROW(comm.recv(data, 0, 6, bounded), BackendError);
    });
}

TEST(Messages, ThatCannotBeAreRefused) {
    on_ranks(2, [](Communicator& comm) {
        int value = 0;
        auto const refused = [&](auto const& call) { return thrown_by<UsageError>(call); };
        auto const self = [&] { return "rank " + std::to_string(comm.rank()) + " of 2 on "; };
        EXPECT_THAT(refused([&] { comm.send(one(value), 2, 1); }),
                    AllOf(HasSubstr(self()), HasSubstr("rank 2 is out of range (0 to 1)")));
        EXPECT_THAT(refused([&] { comm.recv(one(value), -2, 1); }),
                    HasSubstr("rank -2 is out of range"));
        EXPECT_THAT(refused([&] { comm.isend(one(value), 0, -1); }),
                    HasSubstr("tag -1 is out of range"));
        EXPECT_THAT(refused([&] { comm.irecv(one(value), 0, comm.max_tag() + 1); }),
                    HasSubstr("is out of range (0 to " + std::to_string(comm.max_tag())));
        EXPECT_THAT(refused([&] {
                        comm.send({nullptr, 3, DataType::Kind::f32}, 0);
                    }),
                    HasSubstr("null"));
        EXPECT_THAT(refused([&] {
                        comm.recv({&value, 3, DataType::opaque(0)}, 0);
                    }),
                    HasSubstr("no bytes"));
        comm.barrier(bounded);
    });
}

}  // namespace
}  // namespace sinew::tests
