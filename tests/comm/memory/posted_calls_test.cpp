// SPDX-License-Identifier: Apache-2.0
// Short non-blocking calls over the node's memory, which the caller's thread begins and ends.
#include <functional>
#include <numeric>

#include "tests/comm/ranks.hpp"

namespace sinew::tests {
namespace {

using testing::AllOf;
using testing::Each;
using testing::HasSubstr;

/// The sizes that pass through lines, compact slots and other short slots.
constexpr std::size_t posted_sizes[] = {1, 14, 15, 64, 65, 2048};

TEST(PostedCalls, DoNotNeedAnyCallOfTheOthersButTheirOwn) {
    Variable const unchecked("SINEW_CHECK", "0");
    for (std::size_t const count : posted_sizes) {
        std::atomic<int> through{0};
        run_thread_ranks(3, [&](Communicator& comm) {
            make_room(comm);
            std::vector<int> data(count, 1 + comm.rank());
            Request request = comm.iallreduce(data, sum);
            // Rank 1 makes no call until the others have their results.
            if (comm.rank() == 1) wait_until([&] { return through == 2; });
            request.wait();
            ++through;
            EXPECT_THAT(data, Each(6));
        });
    }
}

TEST(PostedCalls, RunAheadOfARankThatOnlyComputes) {
    Variable const unchecked("SINEW_CHECK", "0");
    for (std::size_t const count : posted_sizes) {
        std::atomic<int> through{0};
        run_thread_ranks(3, [&](Communicator& comm) {
            make_room(comm);
            // More than there are lines; those that do not fit are the engine's.
            constexpr int calls = 100;
            std::vector<std::vector<int>> data;
            for (int i = 0; i < calls; ++i) data.emplace_back(count, i + comm.rank());
            std::vector<Request> requests;
            for (auto& each : data) requests.push_back(comm.iallreduce(each, sum));
            if (comm.rank() == 2) wait_until([&] { return through == 2; });
            std::reverse(requests.begin(), requests.end());
            for (Request& request : requests) request.wait();
            ++through;
            for (int i = 0; i < calls; ++i)
                EXPECT_THAT(data[static_cast<std::size_t>(i)], Each(3 * i + 3)) << i;
        });
    }
}

// Each rank is ahead of the others in turn, by other numbers of calls, so that lines and slots are
// written again while some ranks have not read those before.
TEST(PostedCalls, OfRanksThatAreBehindKeepTheirMessages) {
    run_thread_ranks(3, [](Communicator& comm) {
        make_room(comm);
        for (int turn = 0; turn < 60; ++turn) {
            int const calls = 1 + turn % 13;
            std::size_t const count =
                posted_sizes[static_cast<std::size_t>(turn / 3) % std::size(posted_sizes)];
            std::vector<std::vector<int>> data;
            for (int i = 0; i < calls; ++i) data.emplace_back(count, turn + i + comm.rank());
            std::vector<Request> requests;
            for (int i = 0; i < calls; ++i) {
                if (comm.rank() == turn % 3) std::this_thread::sleep_for(200us);
                auto& each = data[static_cast<std::size_t>(i)];
                if (i % 5 == 3) requests.push_back(comm.ibroadcast(each, turn % 3));
                else if (i % 5 == 4) requests.push_back(comm.ibarrier());
                else requests.push_back(comm.iallreduce(each, sum));
            }
            if (turn % 4 == 1) comm.barrier();  // they end before it
            if (turn % 4 == 2) {
                EXPECT_EQ(comm.allreduce_value(1, sum), 3);
            }
            for (std::size_t i = 0; i < requests.size(); ++i) {
                if (turn % 2 == 0) requests[i].wait();
                else
                    while (!requests[i].test()) std::this_thread::yield();
            }
            for (int i = 0; i < calls; ++i) {
                int const own = turn + i + comm.rank();
                int const expected = i % 5 == 3   ? turn + i + turn % 3
                                     : i % 5 == 4 ? own
                                                  : 3 * (turn + i) + 3;
                ASSERT_THAT(data[static_cast<std::size_t>(i)], Each(expected))
                    << "turn " << turn << ", call " << i;
            }
        }
    });
}

// A rank that was behind has finished its calls, and none of the others was. They must learn it, because
// the next call needs the place of the first.
TEST(PostedCalls, OfARankThatWasBehindAreFinishedForTheOthers) {
    Variable const unchecked("SINEW_CHECK", "0");
    for (auto const& [count, places] : {std::pair{1, 32}, {15, 32}, {65, 8}}) {
        std::atomic<bool> all_posted{false}, waits{false};
        std::atomic<int> through{0};
        run_thread_ranks(2, [&, count = count, places = places](Communicator& comm) {
            make_room(comm);
            int one = 0;
            comm.broadcast(std::span(&one, 1), 0);
            ++through;
            wait_until([&] { return through == 2; });  // all places are free
            auto const vector = [&] {
                return std::vector<int>(static_cast<std::size_t>(count), 1 + comm.rank());
            };
            auto const is_done = [](Request& request) { return request.wait_for(20s); };
            std::vector<std::vector<int>> data;
            for (int i = 0; i <= places; ++i) data.push_back(vector());
            std::vector<Request> requests;
            auto const post = [&](int i) {
                requests.push_back(comm.iallreduce(data[static_cast<std::size_t>(i)], sum));
            };
            if (comm.rank() == 0) {
                for (int i = 0; i < places; ++i) post(i);
                all_posted = true;
                wait_until([&] { return waits.load(); });
                for (Request& request : requests) EXPECT_TRUE(is_done(request));
            } else {
                wait_until([&] { return all_posted.load(); });
                for (int i = 0; i < places; ++i) {
                    post(i);
                    EXPECT_TRUE(is_done(requests.back()));
                }
            }
            post(places);
            waits = true;
            EXPECT_TRUE(is_done(requests.back())) << count;
        });
    }
}

TEST(PostedCalls, EndBeforeLongOnesAndThoseOfOtherAlgorithms) {
    run_thread_ranks(3, [](Communicator& comm) {
        make_room(comm);
        for (int i = 0; i < 4; ++i) {
            std::vector<int> brief(3, i), large(100000, i), other(3, i);
            Request first = comm.iallreduce(brief, sum);
            Request second = comm.iallreduce(large, sum);
            Request third = comm.iallreduce(other, sum, {.algorithm = "ring"});
            if (i % 2 == 0) comm.allreduce_value(1, sum, {.timeout = long_time});
            third.wait();
            EXPECT_TRUE(first.test()) << "it is before the third";
            second.wait();
            EXPECT_THAT(brief, Each(3 * i));
            EXPECT_THAT(large, Each(3 * i));
            EXPECT_THAT(other, Each(3 * i));
        }
    });
}

TEST(PostedCalls, MayBeAwaitedForAWhileAndByAnotherThread) {
    Variable const unchecked("SINEW_CHECK", "0");
    std::atomic<bool> asked{false};
    run_thread_ranks(2, [&](Communicator& comm) {
        make_room(comm);
        int value = comm.rank(), next = 1;
        if (comm.rank() == 1) wait_until([&] { return asked.load(); });
        Request request = comm.iallreduce(std::span(&value, 1), max);
        if (comm.rank() == 0) {
            EXPECT_FALSE(request.test());
            EXPECT_FALSE(request.ready());
            EXPECT_FALSE(request.wait_for(-1ns));
            EXPECT_FALSE(request.wait_for(2ms));
            EXPECT_FALSE(request.cancel());
        }
        std::thread waiting([&] {
            asked = true;
            EXPECT_TRUE(request.wait_for(long_time));
        });
        Request other = comm.iallreduce(std::span(&next, 1), sum);
        other.wait();
        waiting.join();
        EXPECT_EQ(value, 1);
        EXPECT_EQ(next, 2);
    });
}

TEST(PostedCalls, EndWhenTheirRequestIsDropped) {
    run_thread_ranks(2, [](Communicator& comm) {
        make_room(comm);
        for (int i = 0; i < 100; ++i) {
            std::vector<double> data(3, 1);
            { Request const unwatched = comm.iallreduce(data, sum); }
            ASSERT_THAT(data, Each(2));
        }
        Request outlives;
        std::vector<int> data(5, 1);
        {
            Communicator copy = comm.dup();
            make_room(copy);
            outlives = copy.iallreduce(data, sum);
        }
        outlives.wait();
        EXPECT_THAT(data, Each(2));
    });
}

/// Ends a request in one of several ways.
void end(Request& request, int way) {
    if (way == 0) request.wait();
    else if (way == 1)
        while (!request.test()) std::this_thread::yield();
    else request.wait_for(long_time);
}

TEST(PostedCalls, ThatWaitInVainNameTheCallAndTheRank) {
    Variable const unchecked("SINEW_CHECK", "0");
    Variable const timeout("SINEW_TIMEOUT", "300ms"), late("SINEW_LATE_TIMEOUT", "300ms");
    for (int way = 0; way < 3; ++way) {
        Leaving leaving(1);
        run_thread_ranks(2, [&](Communicator& comm) {
            make_room(comm);
            if (comm.rank() == 1) return leaving.wait_for_others();
            std::vector<float> data(10), more(10);
            Request request = comm.iallreduce(data, sum), second = comm.iallreduce(more, sum);
            EXPECT_THAT(loss_seen_by([&] { end(request, way); }),
                        AllOf(HasSubstr(": allreduce(f32 x 10, sum) #2 stopped after 0."),
                              HasSubstr("not arrived: rank 1 on ")));
            EXPECT_THAT(loss_seen_by([&] { second.wait(); }), HasSubstr("allreduce(f32 x 10"));
            EXPECT_THAT(loss_seen_by([&] { comm.barrier(); }), HasSubstr("allreduce(f32 x 10"));
            EXPECT_THAT(loss_seen_by([&] { comm.iallreduce(data, sum); }),
                        HasSubstr("allreduce(f32 x 10"));
            leaving.one_is_through();
        });
    }
}

// The calls that follow first wait for the posted one: a blocking one here, another in a fiber.
TEST(PostedCalls, ThatWaitInVainEndTheCallsBehindThem) {
    Variable const unchecked("SINEW_CHECK", "0");
    Variable const timeout("SINEW_TIMEOUT", "300ms"), late("SINEW_LATE_TIMEOUT", "300ms");
    for (bool const blocking : {true, false}) {
        Leaving leaving(1);
        run_thread_ranks(2, [&](Communicator& comm) {
            make_room(comm);
            if (comm.rank() == 1) return leaving.wait_for_others();
            std::vector<float> data(10), large(100000);
            Request request = comm.iallreduce(data, sum), behind;
            auto const what = loss_seen_by([&] {
                if (blocking) return comm.broadcast(data);
                behind = comm.iallreduce(large, sum);
                behind.wait();
            });
            EXPECT_THAT(what, AllOf(HasSubstr(": allreduce(f32 x 10, sum) #2 stopped after 0."),
                                    HasSubstr("not arrived: rank 1 on ")));
            EXPECT_THAT(loss_seen_by([&] { request.wait(); }), HasSubstr("allreduce(f32 x 10"));
            leaving.one_is_through();
        });
    }
}

TEST(PostedCalls, EndWithTheReasonOfARankThatGaveUp) {
    Variable const unchecked("SINEW_CHECK", "0");
    for (int way = 0; way < 3; ++way) {
        Leaving leaving(1);
        std::atomic<bool> has_room{false};
        run_thread_ranks(2, [&](Communicator& comm) {
            make_room(comm);
            if (comm.rank() == 0) has_room = true;
            if (comm.rank() == 1) {
                wait_until([&] { return has_room.load(); });  // else its barrier may fail instead
                comm.state().abandon("it has had enough");
                return leaving.wait_for_others();
            }
            std::vector<float> data(10);
            EXPECT_THAT(loss_seen_by([&] {
                            Request request = comm.iallreduce(data, sum);
                            end(request, way);
                        }),
                        AllOf(HasSubstr("rank 1 on "), HasSubstr("it has had enough")));
            leaving.one_is_through();
        });
    }
}

TEST(PostedCalls, AreComparedWithTheCallsOfTheOthers) {
    Variable const unchecked("SINEW_CHECK", "0");
    Variable const timeout("SINEW_TIMEOUT", "1s"), late("SINEW_LATE_TIMEOUT", "1s");
    for (int way = 0; way < 3; ++way) {
        Leaving leaving(2);
        run_thread_ranks(2, [&](Communicator& comm) {
            make_room(comm);
            std::vector<int> data(comm.rank() == 0 ? 3 : 5);
            EXPECT_THROW(
                {
                    Request request = comm.iallreduce(data, sum);
                    end(request, way);
                    comm.barrier();
                },
                Error);
            leaving.one_is_through();
            leaving.wait_for_others();
        });
    }
}

// Rank 0's message is where a rank that waits for it does not look at first. No deadline ends the wait.
TEST(PostedCalls, FindACallWhoseMessageLiesElsewhere) {
    Variable const unchecked("SINEW_CHECK", "0");
    using Call = std::function<void(Communicator&, std::span<float>)>;
    Call const allreduce = [](Communicator& comm, std::span<float> data) {
        EXPECT_THROW(comm.allreduce(data, sum), Error);
    };
    Call const broadcast = [](Communicator& comm, std::span<float> data) {
        comm.broadcast(data.first(4));
    };
    for (int ranks = 2; ranks <= 3; ++ranks)
        for (bool const together : {true, false})
            for (int way = 0; way < 3; ++way) {
                Leaving leaving(ranks - 1);
                run_thread_ranks(ranks, [&](Communicator& comm) {
                    make_room(comm);
                    std::vector<float> data(16);
                    if (comm.rank() == 0) {
                        (together ? allreduce : broadcast)(comm, data);
                        return leaving.wait_for_others();
                    }
                    EXPECT_THAT(thrown_by<Error>([&] {
                                    Request request = together ? comm.ibroadcast(data, 0)
                                                               : comm.iallreduce(data, sum);
                                    end(request, way);
                                }),
                                HasSubstr("another call"))
                        << "rank " << comm.rank() << " of " << ranks;
                    leaving.one_is_through();
                });
            }
}

TEST(PostedCalls, ThatAreWrongAreRefused) {
    run_thread_ranks(2, [](Communicator& comm) {
        make_room(comm);
        std::vector<int> data(3, 1), longer(4);
        EXPECT_THROW(comm.ibroadcast(data, 2), UsageError);
        EXPECT_THROW(comm.iallreduce(std::span<int const>(data), std::span(longer), sum),
                     UsageError);
        Request request = comm.iallreduce(data, sum);
        request.wait();
        EXPECT_THAT(data, Each(2));
    });
}

}  // namespace
}  // namespace sinew::tests
