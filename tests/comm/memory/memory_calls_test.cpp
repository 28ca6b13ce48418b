// SPDX-License-Identifier: Apache-2.0
// Calls that run over the node's memory without preparations: how they fail, and beside calls that
// the engine runs.
#include <stdexcept>

#include "tests/comm/ranks.hpp"

namespace sinew::tests {
namespace {

using testing::AllOf;
using testing::HasSubstr;

// Each size passes through memory in another way.
TEST(MemoryCalls, WhoseFunctionThrowsOnOneRankTellTheOthers) {
    Variable const unchecked("SINEW_CHECK", "0");
    for (std::size_t const count : {1u, 1000u, 100000u}) {
        Leaving leaving(3);
        run_thread_ranks(3, [&](Communicator& comm) {
            make_room(comm);
            int const self = comm.rank();
            auto const op = reduce_op<int>([self](int a, int b) {
                if (self == 1) throw std::logic_error("of the operation");
                return a + b;
            });
            std::vector<int> data(count, 1);
            if (self == 1) {
                EXPECT_EQ(thrown_by<std::logic_error>([&] { comm.allreduce(data, op); }),
                          "of the operation");
                EXPECT_THROW(comm.barrier(), std::logic_error) << "the communicator is lost";
            } else {
                auto const what = thrown_by<PeerLost>([&] {
                    comm.allreduce(data, op);
                    comm.barrier();
                });
                EXPECT_THAT(what, AllOf(HasSubstr("rank 1 on "), HasSubstr("of the operation")));
            }
            leaving.one_is_through();
            leaving.wait_for_others();
        });
    }
}

TEST(MemoryCalls, ThatWaitInVainNameTheirArguments) {
    Variable const unchecked("SINEW_CHECK", "0");
    Variable const timeout("SINEW_TIMEOUT", "300ms"), late("SINEW_LATE_TIMEOUT", "300ms");
    Leaving leaving(1);
    run_thread_ranks(2, [&](Communicator& comm) {
        make_room(comm);
        if (comm.rank() == 1) return leaving.wait_for_others();
        std::vector<float> data(10000);
        EXPECT_THAT(loss_seen_by([&] { comm.allreduce(data, sum); }),
                    AllOf(HasSubstr(": allreduce(f32 x 10000, sum) #2 stopped after 0."),
                          HasSubstr("not arrived: rank 1 on ")));
        leaving.one_is_through();
    });
}

TEST(MemoryCalls, MayFollowTheFirstCallWhileTheEngineMakesTheRoom) {
    for (int round = 0; round < 20; ++round)
        run_thread_ranks(3, [](Communicator& comm) {
            int pending = comm.rank(), own = 1;
            Request request = comm.iallreduce(std::span(&pending, 1), max);
            comm.algorithm_for(Collective::allreduce, 8);  // reads what the engine writes
            comm.allreduce(std::span(&own, 1), sum);
            request.wait();
            EXPECT_EQ(own, 3);
            EXPECT_EQ(pending, 2);
        });
}

TEST(MemoryCalls, KeepTheirPlaceAmongNonBlockingCalls) {
    run_thread_ranks(3, [](Communicator& comm) {
        std::vector<Request> under_way;
        std::vector<int> values(200), large(30000);
        for (int i = 0; i < 200; ++i) {
            int& value = values[static_cast<std::size_t>(i)];
            value = i + comm.rank();
            std::span<int> const one(&value, 1);
            if (i % 7 == 3) {
                under_way.push_back(comm.iallreduce(one, sum));
            } else if (i % 7 == 5) {
                comm.broadcast(one, i % 3);
            } else if (i % 7 == 6) {
                std::fill(large.begin(), large.end(), i);
                comm.allreduce(large, max);
                EXPECT_EQ(large.back(), i);
            } else {
                comm.allreduce(one, sum);
            }
        }
        for (Request& request : under_way) request.wait();
        for (int i = 0; i < 200; ++i) {
            int const value = values[static_cast<std::size_t>(i)];
            int const expected = i % 7 == 5 ? i + i % 3 : i % 7 == 6 ? i + comm.rank() : 3 * i + 3;
            EXPECT_EQ(value, expected) << "call " << i;
        }
    });
}

}  // namespace
}  // namespace sinew::tests
