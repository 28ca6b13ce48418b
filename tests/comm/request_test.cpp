// SPDX-License-Identifier: Apache-2.0
// Non-blocking calls and messages, over threads and over MPI at each thread level.
#include <filesystem>
#include <fstream>
#include <numeric>
#include <utility>

#include "tests/comm/ranks.hpp"

namespace sinew::tests {
namespace {

using testing::Each;
using testing::ElementsAre;

/// Ends calls that would hang.
constexpr CallOptions request_options{.timeout = long_time};

std::span<int> span_of(int& value) { return {&value, 1}; }

TEST(Request, IsDoneWhenEmpty) {
    Request request;
    EXPECT_TRUE(request.test());
    EXPECT_TRUE(request.wait_for(0ns));
    EXPECT_EQ(request.wait().source, -1);
}

TEST(Request, TellsWhatAReceiveBrought) {
    on_ranks(2, [](Communicator& comm) {
        std::vector<int> data(5, comm.rank());
        if (comm.rank() == 0) return comm.send(std::span(data).first(3), 1, 7, request_options);
        Received const received = comm.irecv(data, any_source, 7, request_options).wait();
        EXPECT_EQ(received.source, 0);
        EXPECT_EQ(received.tag, 7);
        EXPECT_EQ(received.count, 3U);
        EXPECT_THAT(data, ElementsAre(0, 0, 0, 1, 1));
    });
}

TEST(Request, TellsThatToWhoeverTestsOrWaitsForATime) {
    on_ranks(2, [](Communicator& comm) {
        int value = 3;
        if (comm.rank() == 0) {
            comm.send(span_of(value), 1, 7, request_options);
            return comm.send(span_of(value), 1, 8, request_options);
        }
        Received tested, waited;
        Request first = comm.irecv(span_of(value), 0, 7, request_options);
        while (!first.test(&tested)) EXPECT_EQ(tested.source, -1);
        EXPECT_EQ(tested.source, 0);
        EXPECT_EQ(tested.tag, 7);
        EXPECT_EQ(tested.count, 1U);
        Request second = comm.irecv(span_of(value), any_source, 8, request_options);
        EXPECT_TRUE(second.wait_for(long_time, &waited));
        EXPECT_EQ(waited.source, 0);
        EXPECT_EQ(waited.tag, 8);
    });
}

TEST(Request, TakesBackAReceiveThatMetNoMessage) {
    on_ranks(2, [](Communicator& comm) {
        if (comm.size() < 2) return;
        int value = 7;
        if (comm.rank() == 1) {
            Request request = comm.irecv(span_of(value), 0, 5, request_options);
            EXPECT_TRUE(request.cancel());
            EXPECT_TRUE(request.test());  // empty
            EXPECT_FALSE(request.cancel());
        }
        comm.barrier(request_options);
        int sent = 9, received = 0;
        if (comm.rank() == 0) comm.send(span_of(sent), 1, 5, request_options);
        else {
            comm.recv(span_of(received), 0, 5, request_options);  // matches the message
            EXPECT_EQ(received, 9);
            EXPECT_EQ(value, 7);
        }
        EXPECT_EQ(comm.allreduce_value(1, sum, request_options), 2);
    });
}

TEST(Request, KeepsAReceiveWhoseMessageIsHere) {
    on_ranks(2, [](Communicator& comm) {
        if (comm.size() < 2) return;
        std::vector<int> data(comm.rank() == 0 ? 100000 : 200000, 3);
        Request request;
        if (comm.rank() == 0) request = comm.isend(data, 1, 5, request_options);
        comm.barrier(request_options);
        if (comm.rank() == 1) {
            request = comm.irecv(data, 0, 5, request_options);
            // Over MPI the message may not have matched yet; it then matches the next receive.
            if (request.cancel()) request = comm.irecv(data, 0, 5, request_options);
            EXPECT_EQ(request.wait().count, 100000U);
        } else {
            EXPECT_FALSE(request.cancel());  // a send
            request.wait();
        }
        Request collective = comm.ibarrier(request_options);
        EXPECT_FALSE(collective.cancel());
        collective.wait();
    });
}

TEST(Request, OfAReceiveThatIsDroppedDoesNotCostTheCommunicator) {
    on_ranks(2, [](Communicator& comm) {
        int value = 0;
        if (comm.rank() == 1)
            Request const dropped = comm.irecv(span_of(value), 0, 5, {.timeout = 200ms});
        EXPECT_EQ(comm.allreduce_value(1, sum, request_options), comm.size());
    });
}

TEST(Request, IsNotDoneBeforeItsMessage) {
    on_ranks(2, [](Communicator& comm) {
        int value = comm.rank();
        if (comm.rank() == 0) {
            comm.recv(span_of(value), 1, 1, request_options);
            return comm.send(span_of(value), 1, 0, request_options);
        }
        Request request = comm.irecv(span_of(value), 0, 0, request_options);
        EXPECT_FALSE(request.test());
        EXPECT_FALSE(request.wait_for(1ms));
        EXPECT_FALSE(request.wait_for(-1ns));
        int go = 1;
        comm.send(span_of(go), 0, 1, request_options);
        EXPECT_TRUE(request.wait_for(long_time));
        EXPECT_TRUE(request.test());
    });
}

TEST(Request, EndsByBeingTested) {
    on_ranks(4, [](Communicator& comm) {
        std::vector<float> data(100000, 1);
        Request request = comm.iallreduce(data, sum, request_options);
        while (!request.test()) std::this_thread::yield();
        EXPECT_THAT(data, Each(static_cast<float>(comm.size())));
    });
}

TEST(Request, MayBeWaitedForInAnyOrder) {
    on_ranks(4, [](Communicator& comm) {
        std::vector<std::vector<int>> data;
        for (int i = 0; i < 10; ++i) data.emplace_back(std::size_t{1} << i, i);
        std::vector<Request> requests;
        for (auto& each : data) requests.push_back(comm.iallreduce(each, sum, request_options));
        std::reverse(requests.begin(), requests.end());
        for (Request& request : requests) request.wait();
        for (int i = 0; i < 10; ++i)
            EXPECT_THAT(data[static_cast<std::size_t>(i)], Each(i * comm.size()));
    });
}

TEST(Request, KeepsItsBufferUntilItIsDestroyed) {
    on_ranks(4, [](Communicator& comm) {
        std::vector<double> data(50000, 1);
        { Request const unwatched = comm.iallreduce(data, sum, request_options); }
        EXPECT_THAT(data, Each(comm.size()));
    });
}

TEST(Request, MovesAndIsFinishedBeforeItIsReplaced) {
    on_ranks(3, [](Communicator& comm) {
        std::vector<int> first(1000, 1), second(1000, 2);
        Request a = comm.iallreduce(first, sum, request_options);
        Request b = std::move(a);
        EXPECT_TRUE(a.test());  // NOLINT: a moved-from request is empty
        b = comm.iallreduce(second, sum, request_options);
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
            request = copy.iallreduce(data, sum, request_options);
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

// Each rank first waits on another communicator; the other operation must make progress.
TEST(Requests, OfTwoCommunicatorsMayBeStartedInAnyOrder) {
    on_ranks(2, [](Communicator& comm) {
        Communicator a = comm.dup(), b = comm.dup();
        for (int i = 0; i < 20; ++i) {
            std::vector<float> x(30000, 1), y(30000, 2);
            Communicator& first = comm.rank() == 0 ? a : b;
            Communicator& second = comm.rank() == 0 ? b : a;
            auto& of_first = comm.rank() == 0 ? x : y;
            auto& of_second = comm.rank() == 0 ? y : x;
            Request one = first.iallreduce(of_first, sum, request_options);
            Request other = second.iallreduce(of_second, sum, request_options);
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
        Request request = comm.iallreduce(data, sum, request_options);
        if (comm.rank() == 1) request.wait();  // needs rank 0, which is in the barrier
        other.barrier(request_options);
        request.wait();
        EXPECT_THAT(data, Each(2.0F));
    });
}

TEST(Requests, ProgressWhileAMessageIsWaitedFor) {
    on_ranks(2, [](Communicator& comm) {
        std::vector<float> data(300000, 1);
        int value = 0;
        Request request = comm.iallreduce(data, sum, request_options);
        if (comm.rank() == 1) {
            request.wait();
            return comm.send(span_of(value), 0, 0, request_options);
        }
        comm.recv(span_of(value), 1, 0, request_options);
        request.wait();
        EXPECT_THAT(data, Each(2.0F));
    });
}

TEST(Requests, AndBlockingCallsKeepTheirOrder) {
    on_ranks(4, [](Communicator& comm) {
        std::vector<int> pending(1000, 1), now(10, comm.rank());
        Request request = comm.iallreduce(pending, sum, request_options);
        comm.allreduce(now, max, request_options);
        EXPECT_THAT(now, Each(comm.size() - 1));
        EXPECT_TRUE(request.test());  // it has completed before
        EXPECT_THAT(pending, Each(comm.size()));
    });
}

// Rank 1 does not call the library until rank 0 has the result, which needs rank 1's part.
TEST(Requests, ProgressWithoutAnyCall) {
    on_ranks(2, [](Communicator& comm) {
        if (comm.transport().threading() == Threading::caller)
            return;  // below MPI_THREAD_MULTIPLE only calls make progress
        std::string path =
            (std::filesystem::temp_directory_path() / "sinew-progress-XXXXXX").string();
        if (comm.rank() == 0) {
            ASSERT_NE(::mkdtemp(path.data()), nullptr);
        }
        comm.broadcast(path, 0, request_options);
        std::vector<float> data(2 << 20, 1);
        Request request = comm.iallreduce(data, sum, request_options);
        auto const sign = std::filesystem::path(path) / "done";
        if (comm.rank() == 0) {
            request.wait();
            std::ofstream(sign) << "done";
        } else {
            wait_until([&] { return std::filesystem::exists(sign); });
            request.wait();
        }
        EXPECT_EQ(std::accumulate(data.begin(), data.end(), 0.0), 2.0 * (2 << 20));
        comm.barrier(request_options);
        if (comm.rank() == 0) std::filesystem::remove_all(path);
    });
}

}  // namespace
}  // namespace sinew::tests
