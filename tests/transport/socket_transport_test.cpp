// SPDX-License-Identifier: Apache-2.0
#include "src/transport/socket_transport.hpp"

#include <sinew/error.hpp>

#include "src/transport/socket_frame.hpp"
#include "tests/support/socket_job.hpp"
#include "tests/transport/conformance.hpp"

namespace sinew {
namespace {

using conformance::Bytes;
using conformance::pattern;
using conformance::TransportConformance;
using testing::ElementsAre;
using testing::IsEmpty;
using testing_support::SocketJob;

/// One thread per rank, each with separate sockets.
conformance::World sockets(std::string const& name, std::vector<int> const& node_of_rank) {
    return {name, [node_of_rank](auto const& body) {
                SocketJob job(node_of_rank);
                std::vector<std::thread> running;
                for (int rank = 0; rank < job.world.size(); ++rank)
                    running.emplace_back([&job, &body, rank] {
                        try {
                            SocketTransport self(job.mesh(rank));
                            body(self);
                        } catch (std::exception const& error) {
                            ADD_FAILURE() << "rank " << rank << ": " << error.what();
                        }
                    });
                for (auto& thread : running) thread.join();
            }};
}

INSTANTIATE_TEST_SUITE_P(Sockets, TransportConformance,
                         testing::Values(sockets("alone", {0}), sockets("unix2", {0, 0}),
                                         sockets("unix3", {0, 0, 0}), sockets("tcp2", {0, 1}),
                                         sockets("mixed4", {0, 1, 0, 1}),
                                         sockets("mixed7", {0, 0, 0, 1, 1, 2, 2})),
                         conformance::world_name);

/// For two transports that are used by one thread.
void wait_for_both(Transport& a, Transport::Ticket& at_a, Transport& b, Transport::Ticket& at_b) {
    conformance::poll(
        [&] {
            bool const first = a.test(at_a, nullptr), second = b.test(at_b, nullptr);
            return first && second;
        },
        "both ends of a message");
}

/// Two ranks in one thread.
struct Pair {
    Pair() : job({0, 0}), a(make(0)), b(make(1)) {}
    std::unique_ptr<SocketTransport> make(int rank) {
        return std::make_unique<SocketTransport>(job.mesh(rank));
    }
    void finish(Transport::Ticket& at_a, Transport::Ticket& at_b) {
        wait_for_both(*a, at_a, *b, at_b);
    }
    void pass(int tag, Bytes const& out) {
        Bytes in(out.size());
        auto sending = a->start_send(1, tag, out);
        auto receiving = b->start_receive(0, tag, in);
        finish(sending, receiving);
        EXPECT_EQ(in, out);
    }
    void settle() {
        for (int i = 0; i < 50; ++i) a->probe(any_source, 99), b->probe(any_source, 99);
    }

    void settle_a() {
        for (int i = 0; i < 50; ++i) a->probe(any_source, 99);
    }

    SocketJob job;
    std::unique_ptr<SocketTransport> a, b;
};

TEST(SocketTransport, KeepsWhatIsUnexpectedWithinTheWindow) {
    Pair two;
    two.pass(1, pattern(10, 1));
    Bytes const out = pattern(detail::eager_bytes, 1);
    std::vector<Transport::Ticket> sends;
    for (int i = 0; i < 100; ++i) sends.push_back(two.a->start_send(1, 2, out));
    int done = 0;
    for (int round = 0; round < 400; ++round) {
        two.b->probe(0, 99);
        for (auto& ticket : sends)
            if (ticket && two.a->test(ticket, nullptr)) ++done;
    }
    // The rest waits at its sender and blocks nothing: a later message with another tag gets
    // through.
    EXPECT_LE(static_cast<std::size_t>(done) * out.size(), detail::window_bytes);
    two.pass(3, pattern(10, 3));
    for (int i = 0; i < 100; ++i) {
        Bytes in(out.size());
        auto receiving = two.b->start_receive(0, 2, in);
        conformance::poll(
            [&] {
                for (auto& ticket : sends) two.a->test(ticket, nullptr);
                return two.b->test(receiving, nullptr);
            },
            "a receive");
        EXPECT_EQ(in, out);
    }
    for (auto& ticket : sends) conformance::wait(*two.a, ticket);
}

TEST(SocketTransport, OpensTheWindowAgain) {
    Pair two;
    // Several windows' worth of messages, also of messages without bytes.
    for (int i = 0; i < 200; ++i) two.pass(1, pattern(detail::eager_bytes, 1));
    for (int i = 0; i < 70000; ++i) {
        auto sending = two.a->start_send(1, 2, {});
        auto receiving = two.b->start_receive(0, 2, {});
        two.finish(sending, receiving);
    }
}

TEST(SocketTransport, CancelledSendsAreNeverReceived) {
    Pair two;
    two.pass(1, pattern(10, 1));
    for (std::size_t const size : {std::size_t{8} << 20, std::size_t{20} << 20}) {
        Bytes const out = pattern(size, 1), other = pattern(size, 2);
        Bytes in(size);
        auto sending = two.a->start_send(1, 2, out);
        ASSERT_TRUE(sending);
        two.settle();
        EXPECT_TRUE(two.b->probe(0, 2));
        two.a->cancel(sending);
        two.settle();
        EXPECT_FALSE(two.b->probe(0, 2));

        // Also when it has matched its receive and some of it has been sent.
        auto receiving = two.b->start_receive(0, 2, in);
        sending = two.a->start_send(1, 2, out);
        for (int i = 0; i < 5; ++i) two.b->probe(0, 99), two.a->probe(1, 99);
        two.a->cancel(sending);
        sending = two.a->start_send(1, 2, other);
        two.finish(sending, receiving);
        EXPECT_EQ(in, other);
        two.pass(1, pattern(100, 4));
    }
}

TEST(SocketTransport, CancelledReceivesAreLeftAloneWhileTheirMessageArrives) {
    Pair two;
    two.pass(1, pattern(10, 1));
    Bytes const out = pattern(std::size_t{20} << 20, 1);
    Bytes in(out.size());
    auto receiving = two.b->start_receive(0, 2, in);
    auto sending = two.a->start_send(1, 2, out);
    for (int i = 0; i < 5; ++i) two.b->probe(0, 99), two.a->probe(1, 99);
    two.b->cancel(receiving);
    Bytes const seen = in;
    conformance::poll([&] { return two.b->probe(0, 99), two.a->test(sending, nullptr); }, "a send");
    two.settle();
    EXPECT_EQ(in, seen);
    two.pass(1, pattern(100, 4));
}

TEST(SocketTransport, DropsTheMessagesOfAGroupThatIsGone) {
    Pair two;
    Bytes const small = pattern(100, 1), large = pattern(std::size_t{1} << 20, 1);
    for (int i = 0; i < 10; ++i) {
        auto part = two.a->split(std::vector{0, 1});
        auto other = two.b->split(std::vector{0, 1});
        auto first = part->start_send(1, 1, small);
        auto second = part->start_send(1, 1, large);
        if (i % 2) other.reset();  // before they arrive, or after
        two.settle();
        other.reset();
        two.settle();
        // They will never be received, so their senders need not wait.
        EXPECT_TRUE(part->test(first));
        EXPECT_TRUE(part->test(second));
    }
}

TEST(SocketTransport, KeepsTheMessagesOfAGroupThatIsNotThereYet) {
    Pair two;
    auto const part = two.a->split(std::vector{1, 0});
    Bytes const out = pattern(5000, 1);
    auto sending = part->start_send(0, 1, out);
    two.settle();
    auto const other = two.b->split(std::vector{1, 0});
    Bytes in(5000);
    auto receiving = other->start_receive(1, 1, in);
    wait_for_both(*part, sending, *other, receiving);
    EXPECT_EQ(in, out);
}

TEST(SocketTransport, TellsEveryGroupWhoIsLost) {
    SocketJob job({0, 1, 0});
    SocketTransport a(job.mesh(0));
    auto b = std::make_unique<SocketTransport>(job.mesh(1));
    auto const part = a.split(std::vector{2, 0, 1});
    auto const other = a.split(std::vector{0, 2});
    EXPECT_THAT(a.lost(), IsEmpty());
    b.reset();  // before any connection: it no longer listens
    Bytes in(8);
    auto receiving = a.start_receive(1, 1, in);
    conformance::poll([&] { return !a.lost().empty(); }, "a loss");
    EXPECT_THAT(a.lost(), ElementsAre(1));
    EXPECT_THAT(part->lost(), ElementsAre(2));
    EXPECT_THAT(other->lost(), IsEmpty());
    EXPECT_FALSE(a.test(receiving, nullptr));
    a.cancel(receiving);
    auto sending = a.start_send(1, 1, in);
    EXPECT_FALSE(a.test(sending, nullptr));
    a.cancel(sending);
}

TEST(SocketTransport, WhoLeavesInOrderIsLostOnlyToThoseWhoWaitForIt) {
    Pair two;
    two.pass(1, pattern(10, 1));
    Bytes const out = pattern(10, 2);
    Bytes in(10), more(10);
    auto sending = two.a->start_send(1, 1, out);
    conformance::wait(*two.a, sending);
    two.a.reset();
    for (int i = 0; i < 50; ++i) EXPECT_THAT(two.b->lost(), IsEmpty());
    conformance::receive(*two.b, 0, 1, in);  // what it had sent is not lost
    EXPECT_EQ(in, out);
    auto receiving = two.b->start_receive(0, 1, more);
    conformance::poll([&] { return !two.b->lost().empty(); }, "a loss");
    EXPECT_THAT(two.b->lost(), ElementsAre(0));
    two.b->cancel(receiving);
}

TEST(SocketTransport, WhoLeftInOrderIsLostToThoseWhoSendToIt) {
    Pair two;
    two.pass(1, pattern(10, 1));
    Bytes const small = pattern(10, 2), large = pattern(std::size_t{1} << 20, 3);
    auto announced = two.a->start_send(1, 1, large);  // waits for an answer when the peer leaves
    two.b.reset();
    conformance::poll([&] { return !two.a->lost().empty(); }, "a loss");
    two.a->cancel(announced);
    two.settle_a();
    EXPECT_THAT(two.a->lost(), IsEmpty());
    for (Bytes const& out : {small, large}) {  // and when it left long ago
        auto sending = two.a->start_send(1, 1, out);
        EXPECT_FALSE(two.a->test(sending, nullptr));
        conformance::poll([&] { return !two.a->lost().empty(); }, "a loss");
        EXPECT_THAT(two.a->lost(), ElementsAre(1));
        two.a->cancel(sending);
        EXPECT_THAT(two.a->lost(), IsEmpty());
    }
}

TEST(SocketTransport, NamesTheSizesOfALongerMessage) {
    Pair two;
    Bytes in(8);
    auto receiving = two.b->start_receive(0, 3, in);
    Bytes const out = pattern(16, 1);
    auto sending = two.a->start_send(1, 3, out);
    try {
        two.finish(sending, receiving);
        FAIL() << "16 bytes fitted into 8";
    } catch (BackendError const& error) {
        EXPECT_STREQ(
            error.what(),
            "rank 1 of 2: the message of 16 bytes from rank 0 with tag 3 is longer than the "
            "receive of 8 bytes. Do both ranks make the same calls?");
    }
    conformance::wait(*two.a, sending);
}

TEST(SocketTransport, RefusesRanksAndTagsThatCannotBe) {
    SocketJob job({0, 0});
    SocketTransport self(job.mesh(0));
    EXPECT_THROW(self.start_send(2, 1, {}), UsageError);
    EXPECT_THROW(self.start_receive(-2, 1, {}), UsageError);
    EXPECT_THROW(self.start_send(1, -1, {}), UsageError);
    EXPECT_THROW(self.split(std::vector{1}), UsageError);
    EXPECT_THROW(SocketMesh(job.world, 2, {}), UsageError);
}

}  // namespace
}  // namespace sinew
