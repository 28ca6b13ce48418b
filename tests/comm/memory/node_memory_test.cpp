// SPDX-License-Identifier: Apache-2.0
// Ranks as processes that share memory: how they find it, and what the others see if one of them
// dies or stops in a collective.
#include <sys/resource.h>

#include <random>
#include <tuple>

#include "src/base/text.hpp"
#include "tests/comm/collective_calls.hpp"
#include "tests/comm/memory/hide_memory.hpp"
#include "tests/comm/ranks.hpp"
#include "tests/support/process_ranks.hpp"
#include "tests/support/socket_ranks.hpp"

namespace sinew::tests {
namespace {

using testing::AllOf;
using testing::ContainsRegex;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;
using testing_support::ProcessRanks;

bool over_memory(Communicator const& comm) {
    return comm.algorithm_for(Collective::allreduce, 8) == "shared";
}

/// "memory" or "messages", after some calls with right results.
std::string medium(Communicator& comm) {
    for (std::size_t const count : {1u, 1000u, 100000u}) {
        std::vector<int> data(count, comm.rank() + 1);
        comm.allreduce(data, sum);
        int const all = comm.size() * (comm.size() + 1) / 2;
        for (int const one : data)
            if (one != all) return text("wrong result ", one);
    }
    return over_memory(comm) ? "memory" : "messages";
}

/// In a call of this kind and size, on a node of three.
class InACollective : public testing::TestWithParam<std::tuple<int, std::size_t>> {
protected:
    static constexpr int at_fault = 1;
    static Collective collective() { return static_cast<Collective>(std::get<0>(GetParam())); }

    /// Calls in a loop, in whose middle `fail` is called in another thread of rank 1.
    static std::string loop(Communicator& comm, std::function<void()> const& fail) {
        if (!over_memory(comm)) return "no memory is shared";
        auto const [kind, bytes] = GetParam();
        std::jthread failing;
        for (int round = 0;; ++round) {
            if (comm.rank() == at_fault && round == 20)
                failing = std::jthread([&fail] {
                    std::random_device chance;
                    std::this_thread::sleep_for(std::chrono::microseconds(chance() % 2000));
                    fail();
                });
            call(comm, collective(), bytes, round % comm.size());
        }
    }
};

std::string call_name(testing::TestParamInfo<std::tuple<int, std::size_t>> const& info) {
    auto const [kind, bytes] = info.param;
    return text(name(static_cast<Collective>(kind)), "_", bytes);
}

// One size of each here; all of them, many times, in the long test.
constexpr std::size_t sizes[] = {48, 6000, 100000, 3000000};
std::vector<std::tuple<int, std::size_t>> one_size_of_each() {
    std::vector<std::tuple<int, std::size_t>> chosen;
    for (int c = 0; c < collectives_count; ++c)
        chosen.emplace_back(c, sizes[static_cast<std::size_t>(c) % std::size(sizes)]);
    for (std::size_t const bytes : sizes)
        if (bytes != sizes[0]) chosen.emplace_back(static_cast<int>(Collective::allreduce), bytes);
    return chosen;
}
INSTANTIATE_TEST_SUITE_P(Each, InACollective, testing::ValuesIn(one_size_of_each()), call_name);
INSTANTIATE_TEST_SUITE_P(DISABLED_All, InACollective,
                         testing::Combine(testing::Range(0, collectives_count),
                                          testing::ValuesIn(sizes)),
                         call_name);

TEST_P(InACollective, ARankThatIsKilledIsNamedByAll) {
    ProcessRanks ranks({.ranks = 3}, [](Communicator& comm) {
        return loop(comm, [] { ::kill(::getpid(), SIGKILL); });
    });
    ASSERT_TRUE(ranks.all_have_ended());
    for (int const rank : {0, 2})
        EXPECT_THAT(ranks.result(rank),
                    AllOf(StartsWith("PeerLost: rank "), HasSubstr("rank 1 on node has died")))
            << ranks.said(rank);
    EXPECT_EQ(ranks.result(1), "");
}

/// The same on a node of two, which hand each other their slots.
class InACollectiveOfTwo : public InACollective {};
INSTANTIATE_TEST_SUITE_P(
    Long, InACollectiveOfTwo,
    testing::Combine(testing::Values(static_cast<int>(Collective::allreduce),
                                     static_cast<int>(Collective::reduce_scatter),
                                     static_cast<int>(Collective::allgather),
                                     static_cast<int>(Collective::alltoall)),
                     testing::Values(100000, 3000000)),
    call_name);

TEST_P(InACollectiveOfTwo, ARankThatIsKilledIsNamed) {
    ProcessRanks ranks({.ranks = 2}, [](Communicator& comm) {
        return loop(comm, [] { ::kill(::getpid(), SIGKILL); });
    });
    ASSERT_TRUE(ranks.all_have_ended());
    EXPECT_THAT(ranks.result(0),
                AllOf(StartsWith("PeerLost: rank 0"), HasSubstr("rank 1 on node has died")))
        << ranks.said(0);
    EXPECT_EQ(ranks.result(1), "");
}

// The others wait for their requests, or test them.
TEST(InMemory, ARankThatIsKilledEndsTheRequestsOfAll) {
    for (bool const tests : {false, true}) {
        ProcessRanks ranks({.ranks = 3}, [tests](Communicator& comm) {
            for (int round = 0;; ++round) {
                std::vector<int> first(10, 1), second(1000, 1);
                Request requests[] = {comm.iallreduce(first, sum), comm.iallreduce(second, sum)};
                if (comm.rank() == 1 && round == 20) ::kill(::getpid(), SIGKILL);
                for (Request& request : requests) {
                    if (!tests) request.wait();
                    else
                        while (!request.test()) std::this_thread::yield();
                }
            }
            return std::string();
        });
        ASSERT_TRUE(ranks.all_have_ended());
        for (int const rank : {0, 2})
            EXPECT_THAT(ranks.result(rank),
                        AllOf(StartsWith("PeerLost: rank "), HasSubstr("rank 1 on node has died")))
                << ranks.said(rank);
    }
}

TEST(InMemory, ARankThatIsStoppedIsNamedByAll) {
    for (std::size_t const bytes : {sizes[0], sizes[3]}) {
        ProcessRanks ranks({.ranks = 3, .timeout = 600ms}, [bytes](Communicator& comm) {
            for (int round = 0;; ++round) {
                if (comm.rank() == 1 && round == 20) ::raise(SIGSTOP);
                call(comm, Collective::allreduce, bytes, 0);
            }
            return std::string();
        });
        ASSERT_TRUE(ranks.has_ended(0) && ranks.has_ended(2));
        ::kill(ranks.pid(1), SIGCONT);
        ASSERT_TRUE(ranks.has_ended(1));
        for (int const rank : {0, 2})
            EXPECT_THAT(ranks.result(rank), HasSubstr("no answer from rank 1 on node")) << bytes;
        EXPECT_THAT(ranks.result(1), AllOf(HasSubstr("PeerLost: "), HasSubstr(" gave up: ")))
            << bytes;
    }
}

TEST(InMemory, ARankThatIsStoppedForShortIsWaitedFor) {
    ProcessRanks ranks({.ranks = 3}, [](Communicator& comm) {
        for (int round = 0; round < 60; ++round) {
            if (comm.rank() == 1 && round == 20) ::raise(SIGSTOP);
            call(comm, Collective::alltoall, 100000, 0);
        }
        return medium(comm);
    });
    wait_until([&] { return testing_support::process_info(ranks.pid(1)).state == 'T'; });
    std::this_thread::sleep_for(300ms);
    EXPECT_FALSE(ranks.has_ended(0, 0s));
    ::kill(ranks.pid(1), SIGCONT);
    ASSERT_TRUE(ranks.all_have_ended());
    for (int rank = 0; rank < 3; ++rank) EXPECT_EQ(ranks.result(rank), "memory");
}

TEST(InMemory, ARankThatIsOnlyLateIsWaitedFor) {
    ProcessRanks ranks({.ranks = 2}, [](Communicator& comm) {
        call(comm, Collective::allreduce, 100000, 0);
        if (comm.rank() == 1) std::this_thread::sleep_for(400ms);
        return medium(comm);
    });
    ASSERT_TRUE(ranks.all_have_ended());
    for (int rank = 0; rank < 2; ++rank) EXPECT_EQ(ranks.result(rank), "memory");
}

TEST(SharedMemory, IsFoundByPidNamespacesOverDevShm) {
    ProcessRanks ranks({.ranks = 3, .pid_namespaces = true}, medium);
    ASSERT_TRUE(ranks.all_have_ended());
    if (!ranks.were_permitted()) GTEST_SKIP() << "no pid namespace is permitted here";
    for (int rank = 0; rank < 3; ++rank) {
        EXPECT_EQ(ranks.result(rank), "memory");
        EXPECT_EQ(ranks.said(rank), "");
    }
}

TEST(SharedMemory, ThatCannotBeHadIsReplacedByMessagesWithOneWarning) {
    ProcessRanks ranks({.ranks = 3, .prepare = hide_proc_and_shm}, medium);
    ASSERT_TRUE(ranks.all_have_ended());
    if (!ranks.were_permitted()) GTEST_SKIP() << "no mount namespace is permitted here";
    std::string all;
    for (int rank = 0; rank < 3; ++rank) {
        EXPECT_EQ(ranks.result(rank), "messages");
        all += ranks.said(rank);
    }
    EXPECT_THAT(all, AllOf(HasSubstr("the ranks on node share no memory"), HasSubstr("memfd: "),
                           HasSubstr("/dev/shm: ")));
    EXPECT_EQ(all.find("share no memory"), all.rfind("share no memory"));
}

#if !defined(SINEW_TEST_ASAN) && !defined(SINEW_TEST_TSAN)  // their shadow memory is larger
TEST(SharedMemory, OfARankWithLittleAddressSpaceIsSmaller) {
    for (int const poor : {0, 1}) {
        ProcessRanks ranks(
            {.ranks = 2,
             .prepare =
                 [poor](int rank) {
                     rlimit const little{std::uint64_t{3} << 30, std::uint64_t{3} << 30};
                     return rank != poor || ::setrlimit(RLIMIT_AS, &little) == 0;
                 }},
            medium);
        ASSERT_TRUE(ranks.all_have_ended());
        for (int rank = 0; rank < 2; ++rank) {
            EXPECT_EQ(ranks.result(rank), "memory") << "rank " << poor << " has little";
            EXPECT_EQ(ranks.said(rank), "");
        }
    }
}
#endif

// The kernel would end the rank by SIGXFSZ.
TEST(SharedMemory, OfARankThatMayWriteNoFileIsReplacedByMessages) {
    for (int const poor : {0, 1}) {
        ProcessRanks ranks({.ranks = 2,
                            .prepare =
                                [poor](int rank) {
                                    rlimit const little{65536, 65536};
                                    return rank != poor || ::setrlimit(RLIMIT_FSIZE, &little) == 0;
                                }},
                           medium);
        ASSERT_TRUE(ranks.all_have_ended());
        for (int rank = 0; rank < 2; ++rank)
            EXPECT_EQ(ranks.result(rank), poor == 0 ? "messages" : "memory")
                << "rank " << poor << " may write none: " << ranks.said(rank);
    }
}

TEST(SharedMemory, IsUsedAsRank0Says) {
    for (bool const first : {false, true})
        testing_support::run_socket_ranks(
            {0, 0, 0},
            [first](Communicator& comm) { EXPECT_EQ(medium(comm), first ? "memory" : "messages"); },
            [first](int rank) {
                auto settings = detail::CommonSettings::from_environment();
                settings.calibrate = false;
                settings.node_memory = first == (rank == 0);
                return settings;
            });
}

TEST(SharedMemory, IsOfANodeAlone) {
    testing_support::run_socket_ranks({0, 0, 1, 1}, [](Communicator& comm) {
        EXPECT_EQ(medium(comm), "messages");
        Communicator node = comm.split_node();
        EXPECT_EQ(medium(node), "memory");
        Communicator across = comm.split(comm.rank() % 2);
        EXPECT_EQ(medium(across), "messages");
    });
}

}  // namespace
}  // namespace sinew::tests
