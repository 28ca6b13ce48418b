// SPDX-License-Identifier: Apache-2.0
#include "src/wire/link.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <csignal>
#include <cstring>
#include <sinew/error.hpp>
#include <stdexcept>
#include <string>
#include <vector>

#include "tests/wire/support.hpp"

namespace sinew::wire {
namespace {

using namespace std::chrono_literals;
using test::bytes;
using test::Pair;
using test::run_until;

/// For both kinds of connection.
class LinkTest : public testing::TestWithParam<Address::Family> {
protected:
    static LinkOptions small_water() {
        LinkOptions options;
        options.high_water = 256 << 10;
        options.low_water = 64 << 10;
        return options;
    }
};

std::string pattern(std::size_t size) {
    std::string text(size, '\0');
    for (std::size_t i = 0; i < size; ++i) text[i] = static_cast<char>(i * 31 + i / 251);
    return text;
}

TEST_P(LinkTest, TellsEachEndWhoTheOtherIs) {
    Pair pair(GetParam());
    auto const& peer = pair.accepted.link->peer();
    EXPECT_EQ(peer.node, 3u);
    EXPECT_EQ(peer.slot, 4u);
    EXPECT_EQ(peer.epoch, 5u);
    EXPECT_EQ(peer.name, "agent on node-d");
    EXPECT_EQ(pair.dialled.link->peer().name, "root");
    std::string const host = GetParam() == Address::Family::tcp ? "127.0.0.1" : "";
    EXPECT_EQ(pair.dialled.link->peer_host(), host);
    EXPECT_EQ(pair.accepted.link->local_host(), host);
}

TEST_P(LinkTest, CarriesMessagesOfManyPartsWithKindAndStream) {
    Pair pair(GetParam());
    std::uint8_t kind = 0;
    std::uint16_t stream = 0;
    std::string payload;
    pair.accepted.link->on({[&](Message const& message) {
                                kind = message.kind;
                                stream = message.stream;
                                payload = test::string(message.payload);
                            },
                            [](LinkEnd const&) {}});
    pair.dialled.link->send(239, 65535, {bytes("one "), {}, bytes("two "), bytes("three")});
    ASSERT_TRUE(run_until(pair.loop, [&] { return !payload.empty(); }));
    EXPECT_EQ(payload, "one two three");
    EXPECT_EQ(kind, 239);
    EXPECT_EQ(stream, 65535);
}

TEST_P(LinkTest, KeepsTheOrderOfManySmallMessages) {
    Pair pair(GetParam());
    constexpr std::uint32_t count = 100'000;
    std::uint32_t next = 0, sent = 0, wrong = 0;
    pair.accepted.link->on({[&](Message const& message) {
                                std::uint32_t number = 0;
                                std::memcpy(&number, message.payload.data(), sizeof number);
                                wrong += number != next++;
                            },
                            [](LinkEnd const& end) { ADD_FAILURE() << end.text; }});
    auto const more = [&] {
        while (sent < count) {
            std::uint32_t const number = sent++;
            if (pair.dialled.link->send(1, 0, {std::as_bytes(std::span(&number, 1))}) == Flow::full)
                break;
        }
    };
    pair.dialled.link->on({[](Message const&) {}, [](LinkEnd const&) {}, [](Liveness) {}, more});
    more();
    ASSERT_TRUE(run_until(pair.loop, [&] { return next == count; }));
    EXPECT_EQ(wrong, 0u);
}

TEST_P(LinkTest, CarriesMessagesOfAllSizes) {
    Pair pair(GetParam());
    std::vector<std::string> sent;
    for (std::size_t size = 1; size <= std::size_t{64} << 20; size *= 4) {
        for (std::size_t const each : {size - 1, size, size + 1}) {
            if (size > 1 << 20 && each != size) continue;  // several copies take much memory
            sent.push_back(pattern(each));
            pair.dialled.link->send(1, 0, {bytes(sent.back())});
        }
    }
    ASSERT_TRUE(run_until(pair.loop, [&] { return pair.accepted.messages.size() == sent.size(); }));
    EXPECT_TRUE(pair.accepted.messages == sent);
}

TEST_P(LinkTest, CarriesBothWaysAtOnce) {
    Pair pair(GetParam());
    auto const large = pattern(3 << 20);
    for (int i = 0; i < 8; ++i) {
        pair.dialled.link->send(1, 0, {bytes(large)});
        pair.accepted.link->send(1, 0, {bytes(large)});
    }
    ASSERT_TRUE(run_until(pair.loop, [&] {
        return pair.accepted.messages.size() == 8 && pair.dialled.messages.size() == 8;
    }));
    for (auto const* const end : {&pair.accepted, &pair.dialled}) {
        for (auto const& message : end->messages) EXPECT_TRUE(message == large);
        EXPECT_TRUE(end->ends.empty());
    }
}

TEST_P(LinkTest, SendsNothingWithinTheCallAndDeliversNothingWithinIt) {
    Pair pair(GetParam());
    pair.dialled.link->send(1, 0, {bytes("x")});
    EXPECT_GT(pair.dialled.link->queued(), 0u);
    ASSERT_TRUE(run_until(pair.loop, [&] { return pair.accepted.messages.size() == 1; }));
    EXPECT_EQ(pair.dialled.link->queued(), 0u);
}

// The peer's process is stopped and does not read. A sender that obeys `full` keeps the queue
// bounded.
TEST_P(LinkTest, HoldsBackASenderWhoListens) {
    test::PrivateFolder folder;
    Loop loop;
    Secret const secret = Secret::random();
    LinkOptions options = small_water();
    options.dead_after = 0s;
    test::End end;
    Listener listener(loop, test::address_of(GetParam(), folder), {secret, {0, 0, 0, "root"}},
                      {options}, [&](std::unique_ptr<Link> link) { end.link = std::move(link); });
    auto const address = listener.address();
    testing_support::Child child = test::fork_peer([&](Loop& its) {
        std::unique_ptr<Link> link;
        std::uint64_t got = 0;
        auto const dialling =
            dial(its, address, {secret, {1, 0, 0, "reader"}}, options, 30s, [&](Dialled result) {
                link = std::move(result.link);
                link->on({[&](Message const& message) {
                              got += message.payload.size();
                              if (got == 64u << 20) link->send(2, 0, {});
                          },
                          [&](LinkEnd const&) { its.stop(); }});
            });
        its.run();
    });
    ASSERT_TRUE(run_until(loop, [&] { return end.link != nullptr; }));
    child.kill(SIGSTOP);
    std::string const block = pattern(64 << 10);
    std::size_t sent = 0, most = 0;
    int drained = 0;
    bool acknowledged = false;
    auto const more = [&] {
        while (sent < 1024) {
            auto const flow = end.link->send(1, 0, {bytes(block)});
            ++sent;
            most = std::max(most, end.link->queued());
            if (flow == Flow::full) break;
        }
    };
    end.link->on({[&](Message const&) { acknowledged = true; }, [](LinkEnd const&) {},
                  [](Liveness) {},
                  [&] {
                      ++drained;
                      more();
                  }});
    more();
    test::run_for(loop, 200ms);
    EXPECT_LT(sent, 1024u);  // the kernel takes some, not 64 MiB
    child.kill(SIGCONT);
    ASSERT_TRUE(run_until(loop, [&] { return acknowledged; }));
    EXPECT_EQ(sent, 1024u);
    EXPECT_GE(drained, 1);
    EXPECT_LE(most,
              (256u << 10) + 2 * block.size() + (512u << 10));  // TLS holds another batch
}

TEST_P(LinkTest, EndsInOrderAtBothEnds) {
    Pair pair(GetParam());
    auto const large = pattern(5 << 20);
    pair.dialled.link->send(1, 0, {bytes(large)});
    pair.dialled.link->send(1, 0, {bytes("last")});
    pair.accepted.link->send(1, 0, {bytes("may be lost")});
    pair.dialled.link->close();
    pair.dialled.link->send(1, 0, {bytes("not sent")});
    ASSERT_TRUE(run_until(
        pair.loop, [&] { return !pair.dialled.ends.empty() && !pair.accepted.ends.empty(); }));
    test::run_for(pair.loop, 10ms);
    ASSERT_EQ(pair.accepted.messages.size(), 2u);  // all queued messages have arrived
    EXPECT_TRUE(pair.accepted.messages[0] == large);
    EXPECT_EQ(pair.accepted.messages[1], "last");
    for (auto const* const end : {&pair.accepted, &pair.dialled}) {
        ASSERT_EQ(end->ends.size(), 1u);
        EXPECT_EQ(end->ends[0].cause, LinkEnd::Cause::closed);
    }
    EXPECT_EQ(pair.accepted.ends[0].text, "agent on node-d: closed by the other end");
    EXPECT_EQ(pair.accepted.ends[0].peer.node, 3u);
}

TEST_P(LinkTest, EndsInOrderWhenBothCloseAtOnce) {
    Pair pair(GetParam());
    pair.dialled.link->close();
    pair.accepted.link->close();
    ASSERT_TRUE(run_until(
        pair.loop, [&] { return !pair.dialled.ends.empty() && !pair.accepted.ends.empty(); }));
    EXPECT_EQ(pair.dialled.ends[0].cause, LinkEnd::Cause::closed);
    EXPECT_EQ(pair.accepted.ends[0].cause, LinkEnd::Cause::closed);
}

TEST_P(LinkTest, MayBeDestroyedWithinItsCallbacks) {
    Pair pair(GetParam());
    int times = 0;
    bool lost = false;
    pair.accepted.link->on({[&](Message const&) {
                                ++times;
                                pair.accepted.link.reset();
                            },
                            [](LinkEnd const&) { ADD_FAILURE(); }});
    pair.dialled.link->on({[](Message const&) {},
                           [&](LinkEnd const& end) {
                               lost = end.cause == LinkEnd::Cause::lost;
                               pair.dialled.link.reset();
                           }});
    for (int i = 0; i < 10; ++i) pair.dialled.link->send(1, 0, {bytes("x")});
    ASSERT_TRUE(run_until(pair.loop, [&] { return lost; }));
    EXPECT_EQ(times, 1);
}

TEST_P(LinkTest, GoesOnAfterACallbackThatThrew) {
    Pair pair(GetParam());
    int times = 0;
    pair.accepted.link->on({[&](Message const&) {
                                if (++times == 1) throw std::runtime_error("out of a callback");
                            },
                            [](LinkEnd const& end) { ADD_FAILURE() << end.text; }});
    for (int i = 0; i < 10; ++i) pair.dialled.link->send(1, 0, {bytes("x")});
    EXPECT_THROW(pair.loop.run(), std::runtime_error);
    EXPECT_TRUE(run_until(pair.loop, [&] { return times == 10; }));
}

TEST_P(LinkTest, RefusesToSendWhatThePeerWouldRefuse) {
    LinkOptions options;
    options.max_frame = 100'000;
    Pair pair(GetParam(), options);
    auto const large = pattern(100'001);
    EXPECT_THROW(pair.dialled.link->send(1, 0, {bytes(large)}), UsageError);
    EXPECT_THROW(pair.dialled.link->send(240, 0, {}), UsageError);
    pair.dialled.link->send(1, 0, {bytes(large).first(100'000)});
    ASSERT_TRUE(run_until(pair.loop, [&] { return pair.accepted.messages.size() == 1; }));
}

TEST_P(LinkTest, HoldsMessagesUntilSomebodyListens) {
    Pair pair(GetParam());
    std::unique_ptr<Link> second;
    bool answered = false;
    test::PrivateFolder folder;
    Listener listener(pair.loop, test::address_of(GetParam(), folder), {pair.secret, {}}, {},
                      [&](std::unique_ptr<Link> link) {
                          second = std::move(link);
                          second->on({[](Message const&) {}, [](LinkEnd const&) {}});
                          second->send(1, 0, {bytes("early")});
                      });
    std::unique_ptr<Link> dialled;
    auto const handle = dial(pair.loop, listener.address(), {pair.secret, {}}, {}, 30s,
                             [&](Dialled result) { dialled = std::move(result.link); });
    ASSERT_TRUE(run_until(pair.loop, [&] { return dialled && second; }));
    test::run_for(pair.loop, 20ms);
    dialled->on(
        {[&](Message const& message) { answered = test::string(message.payload) == "early"; },
         [](LinkEnd const&) {}});
    EXPECT_FALSE(answered);
    EXPECT_TRUE(run_until(pair.loop, [&] { return answered; }));
}

INSTANTIATE_TEST_SUITE_P(Over, LinkTest,
                         testing::Values(Address::Family::unix_socket, Address::Family::tcp),
                         [](auto const& each) {
                             return each.param == Address::Family::tcp ? "tcp" : "unix";
                         });

}  // namespace
}  // namespace sinew::wire
