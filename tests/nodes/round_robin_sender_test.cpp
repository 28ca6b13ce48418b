// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include <mutex>
#include <string>
#include <vector>

#include "src/base/text.hpp"
#include "src/nodes/round_robin_sender.hpp"
#include "tests/support/fake_link.hpp"

namespace sinew::nodes {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class RoundRobin : public testing::Test {
protected:
    void bulk(std::uint64_t child, std::string const& words) {
        sender.send_in_turn(MessageKind::to_bulk, {child, 0}, {bytes(words)});
    }
    void control(std::uint64_t child, std::string const& words) {
        sender.send(MessageKind::to_control, {child, 0}, {bytes(words)});
    }
    /// The link takes so many messages more before it is full again.
    void has_room_for(int messages) {
        room = messages;
        sender.drained();
    }
    static std::span<std::byte const> bytes(std::string const& words) {
        return std::as_bytes(std::span(words));
    }

    std::mutex guard;
    wire::Loop loop{guard};
    int room = 1'000'000;
    std::vector<std::string> sent;  ///< "child: words"
    RoundRobinSender sender{std::make_unique<testing_support::FakeLink>(
        loop, [this](std::uint8_t, std::vector<std::byte> const& frame) {
            std::span<std::byte const> body = frame;
            auto const head = take_value<Head>(body);
            sent.push_back(
                text(head->child, ": ",
                     std::string(reinterpret_cast<char const*>(body.data()), body.size())));
            return --room <= 0 ? wire::Flow::full : wire::Flow::go;
        })};
};

TEST_F(RoundRobin, SendsAtOnceWhileTheLinkHasRoom) {
    bulk(1, "a");
    bulk(2, "b");
    EXPECT_THAT(sent, ElementsAre("1: a", "2: b"));
    EXPECT_EQ(sender.waiting(1), 0U);
}

TEST_F(RoundRobin, ChildrenTakeTurns) {
    room = 1;
    bulk(1, "fills it");
    for (auto const* words : {"a", "b", "c"}) bulk(1, words);
    bulk(2, "x");
    bulk(2, "y");
    EXPECT_EQ(sender.waiting(1), 3U);
    EXPECT_EQ(sender.waiting(2), 2U);
    sent.clear();
    has_room_for(100);
    EXPECT_THAT(sent, ElementsAre("1: a", "2: x", "1: b", "2: y", "1: c"));
    EXPECT_EQ(sender.waiting(1), 0U);
}

TEST_F(RoundRobin, StopsWhenTheLinkIsFullAgain) {
    room = 1;
    for (auto const* words : {"a", "b", "c", "d"}) bulk(1, words);
    EXPECT_THAT(sent, ElementsAre("1: a"));
    has_room_for(2);
    EXPECT_THAT(sent, ElementsAre("1: a", "1: b", "1: c"));
    has_room_for(2);
    EXPECT_THAT(sent, ElementsAre("1: a", "1: b", "1: c", "1: d"));
    bulk(1, "e");
    EXPECT_EQ(sent.back(), "1: e");
}

TEST_F(RoundRobin, ControlMessagesDoNotWait) {
    room = 1;
    bulk(1, "a");
    bulk(1, "b");
    control(1, "stop");
    EXPECT_THAT(sent, ElementsAre("1: a", "1: stop"));
}

TEST_F(RoundRobin, ForgetsAChild) {
    room = 1;
    bulk(1, "a");
    bulk(1, "b");
    bulk(2, "x");
    sender.forget(1);
    sent.clear();
    has_room_for(100);
    EXPECT_THAT(sent, ElementsAre("2: x"));
}

TEST_F(RoundRobin, DropsAllThatWaitsWithItsLink) {
    room = 1;
    bulk(1, "a");
    bulk(1, "b");
    auto const link = sender.release();
    EXPECT_EQ(sender.link(), nullptr);
    sent.clear();
    sender.drained();
    bulk(1, "c");
    control(1, "d");
    sender.flush();
    EXPECT_THAT(sent, IsEmpty());
    EXPECT_EQ(sender.waiting(1), 0U);
}

}  // namespace
}  // namespace sinew::nodes
