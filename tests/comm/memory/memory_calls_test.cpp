// SPDX-License-Identifier: Apache-2.0
// Calls that run over the node's memory without preparations: how they fail, and beside calls that
// the engine runs.
#include <algorithm>
#include <chrono>
#include <stdexcept>
#include <vector>

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

/// An average of all ranks' elements, which each rank calls in another form, and in another one in each `turn`.
template <class T>
std::vector<T> averaged(Communicator& comm, Collective collective, std::vector<T> const& in,
                        int turn) {
    CallOptions options;
    int const form = (comm.rank() + turn) % 5;
    if (form == 1) options.timeout = std::chrono::minutes(1);
    if (form == 2) options.algorithm = "shared";
    // In memory that the ranks share, or this rank's own; in place or not.
    auto const shared = comm.allocate<T>(in.size());
    std::vector<T> own(in.size());
    std::span<T> const data = turn % 3 == 0 ? shared : std::span(own);
    std::copy(in.begin(), in.end(), data.begin());
    std::span<T const> const from = data;
    std::vector<T> out(data.size());
    int const root = turn % comm.size();
    auto const run = [](PersistentRequest request) {
        request.start();
        request.wait();
    };
    switch (collective) {
        case Collective::reduce:
            if (form == 3) comm.ireduce(data, average, root).wait();
            else if (form == 4) run(comm.reduce_init(data, average, root));
            else comm.reduce(data, average, root, options);
            comm.broadcast(data, root);
            break;
        case Collective::reduce_scatter_block: {
            std::span<T> const part(out.data(),
                                    data.size() / static_cast<std::size_t>(comm.size()));
            if (form == 3) comm.ireduce_scatter_block(from, part, average).wait();
            else comm.reduce_scatter_block(from, part, average, options);
            comm.allgather(std::span<T const>(part), data);
            break;
        }
        default:
            if (form == 3) {
                comm.iallreduce(data, average).wait();
            } else if (form == 4) {
                run(comm.allreduce_init(data, average));
            } else if (form == 0) {
                comm.allreduce(from, std::span(out), average, options);
                return out;
            } else {
                comm.allreduce(data, average, options);
            }
    }
    return {data.begin(), data.end()};
}

template <class T>
T quotient(T number, int divisor) {
    if constexpr (std::is_same_v<T, double>) return number / divisor;
    else return T(static_cast<float>(number) / static_cast<float>(divisor));
}

template <class T>
void expect_averages(int ranks) {
    run_thread_ranks(ranks, [&](Communicator& comm) {
        make_room(comm);
        for (std::size_t const each : {0u, 1u, 8u, 300u, 5000u, 60000u}) {
            std::size_t const count = each * static_cast<std::size_t>(ranks);
            std::vector<T> own(count), expected(count);
            for (std::size_t i = 0; i < count; ++i)
                own[i] =
                    T(static_cast<float>(static_cast<int>(i % 61) * (comm.rank() + 2) - 40) / 8);
            expected = own;
            comm.allreduce(expected, sum);
            for (T& number : expected) number = quotient(number, ranks);
            for (auto const collective :
                 {Collective::allreduce, Collective::reduce, Collective::reduce_scatter_block})
                for (int turn = 0; turn < 5; ++turn)
                    ASSERT_EQ(averaged(comm, collective, own, turn), expected)
                        << name(collective) << " of " << each << " elements per rank, turn "
                        << turn;
        }
    });
}

// Ranks divide where they combine. Whoever calls in another way, or gets a part that another rank has
// combined, must not divide it again.
TEST(MemoryCalls, AverageOnceInEveryForm) {
    for (int const ranks : {2, 3, 4}) {
        SCOPED_TRACE(ranks);
        expect_averages<float16>(ranks);
        expect_averages<float>(ranks);
        expect_averages<double>(ranks);
    }
}

// The short way sums the counts.
TEST(MemoryCalls, CountsWhoseSumWrapsAroundAreRefused) {
    run_thread_ranks(2, [](Communicator& comm) {
        make_room(comm);
        std::vector<std::size_t> const counts{std::size_t{0} - 1, 3};
        std::vector<int> const in(2, 1);
        std::vector<int> out(3);
        EXPECT_THROW(comm.reduce_scatter(in, out, counts, sum), UsageError);
    });
}

/// Calls the collectives that have a short form, with `count` elements per rank.
void call_all(Communicator& comm, int root, std::size_t count, CallOptions const& options) {
    int const self = comm.rank(), ranks = comm.size();
    auto const all = count * static_cast<std::size_t>(ranks);
    auto const value = [](int rank, std::size_t i) { return 1000 * rank + static_cast<int>(i); };
    auto const sum_of = [&](int of, std::size_t i) {
        int total = 0;
        for (int r = 0; r < of; ++r) total += value(r, i);
        return total;
    };
    std::vector<int> own(count), whole(all);
    for (std::size_t i = 0; i < count; ++i) own[i] = value(self, i);
    for (std::size_t i = 0; i < all; ++i) whole[i] = value(static_cast<int>(i / count), i % count);
    std::vector<int> const none;
    for (bool const in_place : {false, true}) {
        SCOPED_TRACE(in_place ? "in place" : "two buffers");
        std::vector<int> out(count, -1), data = own;
        auto const result = [&] { return in_place ? data : out; };
        in_place ? comm.reduce(data, sum, root, options)
                 : comm.reduce(own, out, sum, root, options);
        for (std::size_t i = 0; self == root && i < count; ++i)
            ASSERT_EQ(result()[i], sum_of(ranks, i)) << "reduce, element " << i;
        data = own;
        in_place ? comm.scan(data, sum, options) : comm.scan(own, out, sum, options);
        for (std::size_t i = 0; i < count; ++i)
            ASSERT_EQ(result()[i], sum_of(self + 1, i)) << "scan, element " << i;
        data = own;
        in_place ? comm.allreduce(data, sum, options) : comm.allreduce(own, out, sum, options);
        for (std::size_t i = 0; i < count; ++i)
            ASSERT_EQ(result()[i], sum_of(ranks, i)) << "allreduce, element " << i;

        std::vector<int> gathered(self == root ? all : 0, -1);
        if (in_place && self == root)
            std::copy(own.begin(), own.end(),
                      gathered.begin() + static_cast<std::ptrdiff_t>(root * count));
        data = own;
        in_place ? comm.gather(self == root ? gathered : data, root, options)
                 : comm.gather(own, gathered, root, options);
        ASSERT_EQ(gathered, self == root ? whole : none) << "gather";
        data = self == root && in_place ? whole : std::vector<int>(count, -1);
        in_place ? comm.scatter(data, root, options)
                 : comm.scatter(self == root ? whole : none, data, root, options);
        ASSERT_EQ(data, self == root && in_place ? whole : own) << "scatter";

        gathered.assign(all, -1);
        auto const own_part = static_cast<std::ptrdiff_t>(static_cast<std::size_t>(self) * count);
        std::copy(own.begin(), own.end(), gathered.begin() + own_part);
        in_place ? comm.allgather(gathered, options) : comm.allgather(own, gathered, options);
        ASSERT_EQ(gathered, whole) << "allgather";

        // Part t of rank r has the values of rank 10 r + t.
        auto const parts = [&](auto const& rank_of_part) {
            std::vector<int> values(all);
            for (std::size_t i = 0; i < all; ++i)
                values[i] = value(rank_of_part(static_cast<int>(i / count)), i % count);
            return values;
        };
        auto const sent = parts([&](int to) { return 10 * self + to; });
        gathered = in_place ? sent : std::vector<int>(all, -1);
        in_place ? comm.alltoall(gathered, options) : comm.alltoall(sent, gathered, options);
        ASSERT_EQ(gathered, parts([&](int from) { return 10 * from + self; })) << "alltoall";

        int reduced_rank = 0;  // 1000 times this, and every other element `ranks` times
        for (int r = 0; r < ranks; ++r) reduced_rank += 10 * r + self;
        std::vector<int> reduced(count);
        for (std::size_t i = 0; i < count; ++i)
            reduced[i] = 1000 * reduced_rank + ranks * static_cast<int>(i);
        data = sent;
        out.assign(count, -1);
        in_place ? comm.reduce_scatter_block(data, sum, options)
                 : comm.reduce_scatter_block(sent, out, sum, options);
        if (in_place) out.assign(data.begin(), data.begin() + static_cast<std::ptrdiff_t>(count));
        ASSERT_EQ(out, reduced) << "reduce_scatter_block";

        // The last rank gets the block of the first, too, which gets nothing.
        std::vector<std::size_t> counts(static_cast<std::size_t>(ranks), count);
        if (ranks > 1) counts.front() = 0, counts.back() = 2 * count;
        std::size_t const mine = counts[static_cast<std::size_t>(self)];
        std::vector<int> ones(all, 1), totals(mine, -1);
        in_place ? comm.reduce_scatter(ones, counts, sum, options)
                 : comm.reduce_scatter(ones, totals, counts, sum, options);
        if (in_place) totals.assign(ones.begin(), ones.begin() + static_cast<std::ptrdiff_t>(mine));
        ASSERT_EQ(totals, std::vector<int>(mine, ranks)) << "reduce_scatter";
    }
    std::vector<int> data = self == root ? own : std::vector<int>(count, -1);
    comm.broadcast(data, root, options);
    for (std::size_t i = 0; i < count; ++i)
        ASSERT_EQ(data[i], value(root, i)) << "broadcast, element " << i;
}

// A call with a deadline of its own is prepared like a long one. Each count passes in another way.
TEST(MemoryCalls, MayBePreparedOnSomeRanksOnly) {
    Variable const unchecked("SINEW_CHECK", "0");
    for (int const ranks : {2, 3, 5})
        run_thread_ranks(ranks, [&](Communicator& comm) {
            make_room(comm);
            for (std::size_t const count :
                 {0u, 1u, 2u, 3u, 7u, 14u, 15u, 32u, 33u, 64u, 65u, 500u, 2048u, 2049u})
                for (int prepared = -1; prepared < ranks; ++prepared)
                    for (int root = 0; root < ranks; ++root) {
                        SCOPED_TRACE(::testing::Message()
                                     << count << " elements, rank " << prepared << " of " << ranks
                                     << " prepares, root " << root);
                        CallOptions options;
                        if (comm.rank() == prepared) options.timeout = std::chrono::seconds(60);
                        call_all(comm, root, count, options);
                        if (HasFatalFailure()) return;
                    }
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
