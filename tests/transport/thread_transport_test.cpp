// SPDX-License-Identifier: Apache-2.0
#include "src/transport/thread_transport.hpp"

#include <sinew/error.hpp>

#include "tests/transport/conformance.hpp"

namespace sinew {
namespace {

using conformance::TransportConformance;
using testing::ElementsAre;
using testing::IsEmpty;

conformance::World threads(int ranks) {
    return {"ranks" + std::to_string(ranks), [ranks](auto const& body) {
                ThreadHub hub(ranks);
                std::vector<std::thread> running;
                for (int rank = 0; rank < ranks; ++rank)
                    running.emplace_back([&hub, &body, rank] {
                        try {
                            ThreadTransport self(hub, rank);
                            body(self);
                        } catch (std::exception const& error) {
                            ADD_FAILURE() << "rank " << rank << ": " << error.what();
                        }
                    });
                for (auto& thread : running) thread.join();
            }};
}

INSTANTIATE_TEST_SUITE_P(Threads, TransportConformance,
                         testing::Values(threads(1), threads(2), threads(3), threads(4),
                                         threads(7)),
                         conformance::world_name);

TEST(ThreadTransport, TellsEveryGroupWhoIsLost) {
    ThreadHub hub(4);
    std::vector<std::unique_ptr<ThreadTransport>> ranks;
    for (int rank = 0; rank < 4; ++rank)
        ranks.push_back(std::make_unique<ThreadTransport>(hub, rank));
    auto const part = ranks[1]->split(std::vector{3, 1, 2});
    auto const other = ranks[0]->split(std::vector{0, 1});
    EXPECT_THAT(ranks[0]->lost(), IsEmpty());
    hub.lose(3);
    EXPECT_THAT(ranks[0]->lost(), ElementsAre(3));
    EXPECT_THAT(part->lost(), ElementsAre(0));
    EXPECT_THAT(other->lost(), IsEmpty());
}

TEST(ThreadTransport, OutlivesItsHub) {
    auto hub = std::make_unique<ThreadHub>(1);
    ThreadTransport self(*hub, 0);
    hub.reset();
    EXPECT_EQ(conformance::pass_on(self, 1, conformance::pattern(9, 1)),
              conformance::pattern(9, 1));
}

TEST(ThreadTransport, CancelledSendIsNeverReceived) {
    ThreadHub hub(2);
    ThreadTransport sender(hub, 0), receiver(hub, 1);
    auto const bytes = conformance::pattern(ThreadTransport::eager_bytes + 1, 1);
    auto ticket = sender.start_send(1, 1, bytes);
    EXPECT_TRUE(ticket);
    EXPECT_TRUE(receiver.probe(0, 1));
    sender.cancel(ticket);
    EXPECT_FALSE(receiver.probe(0, 1));
}

TEST(ThreadTransport, DropsTheMessagesOfAGroupThatIsGone) {
    ThreadHub hub(1);
    ThreadTransport self(hub, 0);
    for (std::size_t i = 0; i < 10; ++i) {
        auto const part = self.split(std::vector{0});
        EXPECT_FALSE(part->probe(any_source, 1));
        conformance::send(*part, 0, 1, conformance::pattern(8, i));  // never received
    }
}

TEST(ThreadTransport, NamesTheSizesOfALongerMessage) {
    ThreadHub hub(2);
    ThreadTransport sender(hub, 0), receiver(hub, 1);
    conformance::Bytes in(8);
    auto ticket = receiver.start_receive(0, 3, in);
    conformance::send(sender, 1, 3, conformance::pattern(16, 1));
    try {
        conformance::wait(receiver, ticket);
        FAIL() << "16 bytes fitted into 8";
    } catch (BackendError const& error) {
        EXPECT_STREQ(
            error.what(),
            "rank 1 of 2: the message of 16 bytes from rank 0 with tag 3 is longer than the "
            "receive of 8 bytes. Do both ranks make the same calls?");
    }
}

TEST(ThreadTransport, RefusesRanksAndTagsThatCannotBe) {
    EXPECT_THROW(ThreadHub(0), UsageError);
    ThreadHub hub(2);
    EXPECT_THROW(ThreadTransport(hub, 2), UsageError);
    ThreadTransport self(hub, 0);
    EXPECT_THROW(self.start_send(2, 1, {}), UsageError);
    EXPECT_THROW(self.start_receive(-2, 1, {}), UsageError);
    EXPECT_THROW(self.start_send(1, -1, {}), UsageError);
    EXPECT_THROW(self.split(std::vector{1}), UsageError);
}

}  // namespace
}  // namespace sinew
