// SPDX-License-Identifier: Apache-2.0
// Calls that are made once and started many times.
#include <numeric>
#include <utility>

#include <sinew/wait.hpp>

#include "tests/comm/ranks.hpp"

namespace sinew::tests {
namespace {

using testing::Each;
using testing::HasSubstr;

/// The sizes that pass through lines, short slots and rounds.
constexpr std::size_t persistent_sizes[] = {1, 2000, 100000};

TEST(Persistent, IsEmptyUntilItIsMade) {
    PersistentRequest request;
    EXPECT_FALSE(request.active());
    EXPECT_TRUE(request.test());
    EXPECT_TRUE(request.ready());
    EXPECT_TRUE(request.wait_for(0ns));
    request.wait();
    EXPECT_THAT(thrown_by<UsageError>([&] { request.start(); }), HasSubstr("allreduce_init"));
}

TEST(Persistent, AllreducesWhatTheBufferHoldsAtItsStart) {
    on_ranks(3, [](Communicator& comm) {
        for (std::size_t const count : persistent_sizes) {
            std::vector<int> data(count), in(count), out(count);
            auto in_place = comm.allreduce_init(data, sum);
            auto apart = comm.allreduce_init(std::span<int const>(in), std::span(out), max);
            EXPECT_FALSE(in_place.active());
            for (int step = 0; step < 10; ++step) {
                std::fill(data.begin(), data.end(), step + comm.rank());
                std::fill(in.begin(), in.end(), step * comm.rank());
                in_place.start();
                apart.start();
                EXPECT_TRUE(apart.active());
                if (step % 2 == 0) apart.wait();
                else
                    while (!apart.test()) std::this_thread::yield();
                EXPECT_TRUE(in_place.wait_for(long_time));
                EXPECT_FALSE(in_place.active());
                ASSERT_THAT(data, Each(3 * step + 3));
                ASSERT_THAT(out, Each(step * 2));
            }
        }
    });
}

/// Makes each collective twice, and compares the results with those of the blocking form.
TEST(Persistent, DoesWhatTheBlockingFormDoes) {
    on_ranks(3, [](Communicator& comm) {
        auto const n = static_cast<std::size_t>(comm.size());
        auto const self = static_cast<std::size_t>(comm.rank());
        std::vector<std::size_t> counts{3, 0, 4};
        std::vector<int> one(3), own(counts[self]), whole(3 * n), uneven(7);
        std::vector<int> part(3), own_part(counts[self]), all(3 * n), all_uneven(7);
        auto const fill = [&](int step) {
            int next = 100 * step + 10 * comm.rank();
            for (auto* each : {&one, &own, &whole, &uneven})
                for (int& value : *each) value = ++next;
            for (auto* each : {&part, &own_part, &all, &all_uneven})
                std::fill(each->begin(), each->end(), -1);
        };
        auto const results = [&] {
            std::vector<int> every;
            for (auto const* each :
                 {&one, &own, &whole, &uneven, &part, &own_part, &all, &all_uneven})
                every.insert(every.end(), each->begin(), each->end());
            return every;
        };
        auto const compare = [&](char const* what, PersistentRequest request,
                                 std::function<void()> const& blocking) {
            for (int step = 0; step < 2; ++step) {
                fill(step);
                blocking();
                auto const expected = results();
                fill(step);
                request.start();
                request.wait();
                EXPECT_EQ(results(), expected) << what << ", step " << step;
            }
        };
        std::span<int const> const in_one(one), in_own(own), in_whole(whole), in_uneven(uneven);
#define SINEW_COMPARE(name, ...) \
    compare(#name, comm.name##_init(__VA_ARGS__), [&] { comm.name(__VA_ARGS__); })
        SINEW_COMPARE(allreduce, whole, sum);
        SINEW_COMPARE(broadcast, whole, 1);
        SINEW_COMPARE(reduce, in_whole, all, sum, 2);
        SINEW_COMPARE(reduce_scatter, in_uneven, own_part, counts, sum);
        SINEW_COMPARE(reduce_scatter_block, in_whole, part, max);
        SINEW_COMPARE(allgather, in_one, all);
        SINEW_COMPARE(allgatherv, in_own, all_uneven, counts);
        SINEW_COMPARE(gather, in_one, all, 1);
        SINEW_COMPARE(gatherv, in_own, all_uneven, counts, 1);
        SINEW_COMPARE(scatter, in_whole, part, 1);
        SINEW_COMPARE(scatterv, in_uneven, own_part, counts, 1);
        SINEW_COMPARE(alltoall, in_whole, all);
        SINEW_COMPARE(scan, in_whole, all, sum);
        SINEW_COMPARE(exscan, in_whole, all, sum);
        SINEW_COMPARE(barrier);
#undef SINEW_COMPARE
    });
}

TEST(Persistent, KeepsItsArraysOfCountsAndMeetsOtherForms) {
    on_ranks(3, [](Communicator& comm) {
        std::vector<int> data(6, 1), out(2);
        PersistentRequest request;
        {
            std::vector<std::size_t> const counts(3, 2);
            request =
                comm.reduce_scatter_init(std::span<int const>(data), std::span(out), counts, sum);
        }
        for (int step = 0; step < 3; ++step) {
            if (comm.rank() == step) {  // the others start what they have made
                comm.reduce_scatter(std::span<int const>(data), std::span(out),
                                    std::vector<std::size_t>(3, 2), sum);
            } else {
                request.start();
                request.wait();
            }
            EXPECT_THAT(out, Each(3));
        }
    });
}

TEST(Persistent, RequestsOfManyAreAwaitedTogether) {
    on_ranks(3, [](Communicator& comm) {
        std::vector<std::vector<int>> data(50, std::vector<int>(5));
        std::vector<PersistentRequest> requests;
        for (auto& each : data) requests.push_back(comm.allreduce_init(each, sum));
        for (int step = 0; step < 3; ++step) {
            for (auto& each : data) std::fill(each.begin(), each.end(), 1);
            for (auto& request : requests) request.start();
            wait_all(requests);
            for (auto& request : requests) EXPECT_TRUE(request.test());
            for (auto& each : data) EXPECT_THAT(each, Each(3));
        }
    });
}

TEST(Persistent, IsFinishedWhenItIsDroppedAndOutlivesItsCommunicator) {
    on_ranks(3, [](Communicator& comm) {
        for (std::size_t const count : persistent_sizes) {
            std::vector<int> data(count, 1);
            {
                auto request = comm.allreduce_init(data, sum);
                request.start();
            }
            EXPECT_THAT(data, Each(3));
            PersistentRequest outlives;
            {
                Communicator copy = comm.dup();
                outlives = copy.allreduce_init(data, sum);
            }
            outlives.start();
            outlives.wait();
            EXPECT_THAT(data, Each(9));
        }
    });
}

TEST(Persistent, RefusesWrongArgumentsWithoutTheOthers) {
    on_ranks(3, [](Communicator& comm) {
        std::vector<int> data(3, 1), longer(4);
        if (comm.rank() == 1) {  // nobody else takes part, and the communicator stays usable
            EXPECT_THAT(thrown_by<UsageError>([&] { comm.broadcast_init(data, 3); }),
                        HasSubstr("root 3"));
            EXPECT_THROW(comm.allreduce_init(std::span<int const>(data), std::span(longer), sum),
                         UsageError);
            EXPECT_THROW(comm.allreduce_init(std::span<int const>(data), std::span(data), sum),
                         UsageError);
        }
        auto request = comm.allreduce_init(data, sum);
        request.start();
        EXPECT_THAT(thrown_by<UsageError>([&] { request.start(); }),
                    HasSubstr("allreduce(i32 x 3, sum) of a PersistentRequest is in progress"));
        request.wait();
        EXPECT_THAT(data, Each(3));
    });
}

TEST(Persistent, RepeatsTheErrorOfALostCommunicator) {
    Variable const timeout("SINEW_TIMEOUT", "300ms"), late("SINEW_LATE_TIMEOUT", "300ms");
    for (std::size_t const count : persistent_sizes) {
        Leaving leaving(1);
        run_thread_ranks(2, [&](Communicator& comm) {
            comm.barrier();
            if (comm.rank() == 1) return leaving.wait_for_others();
            std::vector<int> data(count);
            auto request = comm.allreduce_init(data, sum);
            request.start();
            loss_seen_by([&] { request.wait(); });
            EXPECT_FALSE(request.active());
            loss_seen_by([&] { request.start(); });
            loss_seen_by([&] { comm.allreduce_init(data, sum); });
            leaving.one_is_through();
        });
    }
}

}  // namespace
}  // namespace sinew::tests
