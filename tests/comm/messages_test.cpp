// SPDX-License-Identifier: Apache-2.0
// Point-to-point messages, over threads and over MPI at each thread level.
#include <numeric>

#include "tests/comm/ranks.hpp"

namespace sinew::tests {
namespace {

using testing::AllOf;
using testing::Each;
using testing::HasSubstr;

/// Ends calls that would hang.
constexpr CallOptions bounded{.timeout = long_time};

int next(Communicator const& comm) { return (comm.rank() + 1) % comm.size(); }
int previous(Communicator const& comm) { return (comm.rank() + comm.size() - 1) % comm.size(); }
std::span<int> one(int& value) { return {&value, 1}; }

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
                    HasSubstr("0 bytes"));
        comm.barrier(bounded);
    });
}

}  // namespace
}  // namespace sinew::tests
