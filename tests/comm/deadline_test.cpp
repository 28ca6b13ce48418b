// SPDX-License-Identifier: Apache-2.0
// What counts as a timeout: not an operation that makes progress, not one that waits for its turn,
// and no error for ranks that are alive but late.
#include <map>

#include "src/comm/join.hpp"
#include "src/transport/thread_transport.hpp"
#include "tests/comm/ranks.hpp"
#include "tests/support/forwarding_transport.hpp"

namespace sinew::tests {
namespace {

using Clock = std::chrono::steady_clock;
using testing::AllOf;
using testing::HasSubstr;

/// A transport whose receives are slow.
class SlowTransport final : public testing_support::ForwardingTransport {
public:
    static constexpr auto delay = 300ms;
    SlowTransport(ThreadHub& hub, int rank)
        : ForwardingTransport(std::make_unique<ThreadTransport>(hub, rank)) {}
    Ticket start_receive(int from, int tag, std::span<std::byte> bytes) override {
        Ticket const ticket = ForwardingTransport::start_receive(from, tag, bytes);
        ready_[ticket.handle] = Clock::now() + delay;
        return ticket;
    }
    bool test(Ticket& ticket, Received* received) override {
        auto const receive = ready_.find(ticket.handle);
        if (receive != ready_.end() && Clock::now() < receive->second) return false;
        auto const handle = ticket.handle;
        if (!ForwardingTransport::test(ticket, received)) return false;
        ready_.erase(handle);
        return true;
    }

private:
    std::map<std::uint64_t, Clock::time_point> ready_;
};

std::shared_ptr<detail::CommunicatorState> state_over(std::unique_ptr<Transport> transport,
                                                      Threading threading) {
    return detail::join(std::move(transport), detail::Engine::make(threading),
                        NodeIdentity::named("here", "here"),
                        detail::CommonSettings::from_environment());
}

TEST(Deadline, StartsAnewWithEachMessage) {
    constexpr int ranks = 8;
    constexpr auto timeout = SlowTransport::delay * (ranks - 2);
    ThreadHub hub(ranks);
    std::vector<std::jthread> threads;
    for (int rank = 0; rank < ranks; ++rank)
        threads.emplace_back([&, rank] {
            try {
                Communicator comm(
                    state_over(std::make_unique<SlowTransport>(hub, rank), Threading::caller));
                std::vector<int> all(ranks, rank);
                // Seven steps with one message each, together longer than the deadline.
                comm.allgather(all, {.algorithm = "ring", .timeout = timeout});
                EXPECT_EQ(all.back(), ranks - 1);
            } catch (std::exception const& error) {
                ADD_FAILURE() << "rank " << rank << ": " << error.what();
            }
        });
}

TEST(Deadline, DoesNotCountTheTimeInTheQueue) {
    run_thread_ranks(2, [](Communicator& comm) {
        constexpr auto own = 2s;
        std::vector<int> first(10, 1), second(10, 1);
        if (comm.rank() == 1) std::this_thread::sleep_for(own + 1s);
        Request a = comm.iallreduce(first, sum, {.timeout = long_time});
        Request b = comm.iallreduce(second, sum, {.timeout = own});
        a.wait();
        b.wait();
        EXPECT_EQ(second.front(), 2);
    });
}

TEST(Deadline, IsLongerForRanksThatAnswer) {
    Variable const timeout("SINEW_TIMEOUT", "200ms"), late("SINEW_LATE_TIMEOUT", "20s");
    run_thread_ranks(2, [](Communicator& comm) {
        comm.barrier();
        if (comm.rank() == 1) std::this_thread::sleep_for(1s);  // computes
        EXPECT_EQ(comm.allreduce_value(1, sum), 2);
        int value = comm.rank();
        if (comm.rank() == 1) {
            std::this_thread::sleep_for(1s);
            comm.send(std::span(&value, 1), 0);
        } else {
            EXPECT_EQ(comm.recv(std::span(&value, 1), 1).count, 1U);
        }
    });
}

TEST(Deadline, IsOverForRanksThatAnswerAndNeverCome) {
    Variable const timeout("SINEW_TIMEOUT", "100ms"), late("SINEW_LATE_TIMEOUT", "500ms");
    Leaving leaving(1);
    run_thread_ranks(2, [&](Communicator& comm) {
        comm.barrier();
        if (comm.rank() == 1) return leaving.wait_for_others();
        EXPECT_THAT(thrown_by<Timeout>([&] { comm.barrier(); }),
                    AllOf(HasSubstr("not arrived: rank 1 on "), HasSubstr("SINEW_LATE_TIMEOUT")));
        leaving.one_is_through();
    });
}

TEST(NonBlocking, SendsItsFirstMessagesAtOnceWhereOnlyTheCallerMakesProgress) {
    ThreadHub hub(2);
    std::unique_ptr<Communicator> comms[2];
    {
        std::jthread const other([&] {
            comms[1] = std::make_unique<Communicator>(
                state_over(std::make_unique<ThreadTransport>(hub, 1), Threading::caller));
        });
        comms[0] = std::make_unique<Communicator>(
            state_over(std::make_unique<ThreadTransport>(hub, 0), Threading::caller));
    }
    int ours = 1, theirs = 1;
    Request first = comms[0]->iallreduce(std::span(&ours, 1), sum);
    // Rank 0 has not been asked for anything since.
    EXPECT_TRUE(comms[1]->transport().probe(0, detail::collective_tag));
    Request second = comms[1]->iallreduce(std::span(&theirs, 1), sum);
    for (bool done = false; !done;) {  // both, as each makes progress only here
        bool const first_done = first.test(), second_done = second.test();
        done = first_done && second_done;
    }
    EXPECT_EQ(ours, 2);
}

}  // namespace
}  // namespace sinew::tests
