// SPDX-License-Identifier: Apache-2.0
#include "src/wire/adopt.hpp"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/socket.h>

#include <array>
#include <memory>
#include <sinew/error.hpp>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "src/wire/socket/sockets.hpp"
#include "tests/wire/support.hpp"

namespace sinew::wire {
namespace {

using namespace std::chrono_literals;
using test::bytes;
using test::run_until;
using testing::ElementsAre;
using testing::HasSubstr;

std::array<UniqueFd, 2> socket_pair(int type = SOCK_STREAM) {
    std::array<int, 2> ends{};
    if (::socketpair(AF_UNIX, type, 0, ends.data()) != 0) throw std::runtime_error("no socketpair");
    return {UniqueFd(ends[0]), UniqueFd(ends[1])};
}

/// Both ends adopted, on one loop.
struct Kin {
    explicit Kin(LinkOptions const& options = {}) {
        auto [one, other] = socket_pair();
        parent.take(adopt(loop, std::move(one), {0, 1, 2, "child"}, options));
        child.take(adopt(loop, std::move(other), {0, 0, 0, "parent"}, options));
    }
    Loop loop;
    test::End parent, child;
};

TEST(Adopt, GivesALinkWithThePeerThatTheCallerNames) {
    Kin kin;
    auto const& peer = kin.parent.link->peer();
    EXPECT_EQ(peer.slot, 1u);
    EXPECT_EQ(peer.epoch, 2u);
    EXPECT_EQ(peer.name, "child");
    EXPECT_EQ(kin.child.link->peer().name, "parent");
    EXPECT_EQ(kin.parent.link->peer_host(), "");
}

TEST(Adopt, CarriesMessagesBothWays) {
    Kin kin;
    kin.parent.link->send(1, 2, {bytes("down "), bytes("there")});
    kin.child.link->send(3, 4, {bytes("up")});
    kin.child.link->send(3, 4, {});
    ASSERT_TRUE(run_until(kin.loop, [&] {
        return kin.child.messages.size() == 1 && kin.parent.messages.size() == 2;
    }));
    EXPECT_THAT(kin.child.messages, ElementsAre("down there"));
    EXPECT_THAT(kin.parent.messages, ElementsAre("up", ""));
}

TEST(Adopt, CarriesFramesThatTheSocketDoesNotHold) {
    Kin kin;
    std::string large(1 << 20, '\0');
    for (std::size_t i = 0; i < large.size(); ++i) large[i] = static_cast<char>(i * 31 + i / 251);
    for (int i = 0; i < 4; ++i) {
        kin.parent.link->send(1, 0, {bytes(large)});
        kin.child.link->send(1, 0, {bytes(large)});
    }
    ASSERT_TRUE(run_until(kin.loop, [&] {
        return kin.child.messages.size() == 4 && kin.parent.messages.size() == 4;
    }));
    for (auto const* const end : {&kin.parent, &kin.child}) {
        for (auto const& message : end->messages) EXPECT_TRUE(message == large);
    }
}

TEST(Adopt, DeliversWhatCameBeforeOn) {
    auto [one, other] = socket_pair();
    Loop loop;
    test::End child, parent;
    child.take(adopt(loop, std::move(other), {0, 0, 0, "parent"}, {}));
    child.link->send(1, 0, {bytes("early")});
    ASSERT_TRUE(run_until(loop, [&] { return child.link->queued() == 0; }));
    parent.take(adopt(loop, std::move(one), {0, 1, 0, "child"}, {}));
    ASSERT_TRUE(run_until(loop, [&] { return !parent.messages.empty(); }));
    EXPECT_THAT(parent.messages, ElementsAre("early"));
}

TEST(Adopt, DeliversNothingBetweenPauseAndResume) {
    Kin kin;
    std::string const large(std::size_t{1} << 20, 'p');
    kin.parent.link->pause();
    auto flow = Flow::go;
    for (int i = 0; i < 20; ++i) flow = kin.child.link->send(1, 0, {bytes(large)});
    EXPECT_EQ(flow, Flow::full);
    kin.parent.link->send(1, 0, {bytes("the other way")});
    ASSERT_TRUE(run_until(kin.loop, [&] { return !kin.child.messages.empty(); }));
    kin.parent.link->resume();
    kin.parent.link->pause();  // within the same turn of the loop
    kin.loop.post([&] { kin.loop.post([&] { kin.loop.stop(); }); });
    kin.loop.run();
    EXPECT_TRUE(kin.parent.messages.empty());
    EXPECT_GT(kin.child.link->queued(), std::size_t{8} << 20) << "has it been read?";
    kin.parent.link->resume();
    ASSERT_TRUE(run_until(kin.loop, [&] { return kin.parent.messages.size() == 20; }));
    EXPECT_TRUE(kin.parent.messages.back() == large);
}

TEST(Adopt, ReportsADeadChildAsLostAfterItsLastWords) {
    auto ends = socket_pair();
    auto const child = test::fork_peer([&](Loop& loop) {
        { UniqueFd const parents = std::move(ends[0]); }
        auto const link = adopt(loop, std::move(ends[1]), {0, 0, 0, "parent"}, {});
        link->send(1, 0, {bytes("last words")});
        link->flush();
    });
    { UniqueFd const childs = std::move(ends[1]); }
    Loop loop;
    test::End parent;
    parent.take(adopt(loop, std::move(ends[0]), {0, 1, 0, "rank 1"}, {}));
    ASSERT_TRUE(run_until(loop, [&] { return !parent.ends.empty(); }));
    EXPECT_THAT(parent.messages, ElementsAre("last words"));
    EXPECT_EQ(parent.ends[0].cause, LinkEnd::Cause::lost);
    EXPECT_THAT(parent.ends[0].text, HasSubstr("rank 1: connection lost (end of file)"));
}

TEST(Adopt, GivesALinkThatMayGetOtherCallbacksWithinOne) {
    Kin kin;
    std::vector<std::string> first, second;
    auto& link = *kin.parent.link;
    auto const kept = std::make_shared<std::string>("alive");
    std::string seen;
    link.on({[&, kept](Message const& message) {
                 first.push_back(test::string(message.payload));
                 link.on(
                     {[&](Message const& later) { second.push_back(test::string(later.payload)); },
                      [](LinkEnd const&) {}});
                 seen = *kept;  // the running callback has not been destroyed
             },
             [](LinkEnd const&) {}});
    EXPECT_EQ(kept.use_count(), 2);
    for (auto const* text : {"one", "two", "three"}) kin.child.link->send(1, 0, {bytes(text)});
    ASSERT_TRUE(run_until(kin.loop, [&] { return second.size() == 2; }));
    EXPECT_EQ(first, std::vector<std::string>{"one"});
    EXPECT_EQ(seen, "alive");
    EXPECT_EQ(kept.use_count(), 1);  // it has been destroyed since
}

TEST(Adopt, EndsInOrderWhenClosed) {
    Kin kin;
    kin.parent.link->close(100ms);
    ASSERT_TRUE(
        run_until(kin.loop, [&] { return !kin.parent.ends.empty() && !kin.child.ends.empty(); }));
    EXPECT_EQ(kin.parent.ends[0].cause, LinkEnd::Cause::closed);
    EXPECT_EQ(kin.child.ends[0].cause, LinkEnd::Cause::closed);
}

TEST(Adopt, DoesNotPassTheDescriptorOn) {
    auto [one, other] = socket_pair();
    int const fd = one.get();
    Loop loop;
    auto const link = adopt(loop, std::move(one), {0, 1, 0, "child"}, {});
    EXPECT_TRUE(::fcntl(fd, F_GETFD) & FD_CLOEXEC);
    EXPECT_TRUE(::fcntl(fd, F_GETFL) & O_NONBLOCK);
}

TEST(Adopt, RefusesWhatIsNoConnectedUnixStream) {
    Loop loop;
    auto const adopted = [&](UniqueFd fd) {
        try {
            adopt(loop, std::move(fd), {0, 1, 0, "rank 1"}, {});
        } catch (UsageError const& error) {
            return std::string(error.what());
        }
        return std::string();
    };
    EXPECT_THAT(adopted(std::move(socket_pair(SOCK_DGRAM)[0])), HasSubstr("not a stream"));
    EXPECT_THAT(adopted(new_socket(AF_UNIX)), HasSubstr("not connected"));
    EXPECT_THAT(adopted(UniqueFd()), HasSubstr("cannot become a link to rank 1"));
    auto const listening = listening_socket(Address::tcp("127.0.0.1", 0));
    UniqueFd tcp(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    auto const where = *numeric_address(Address::tcp("127.0.0.1", bound_port(listening.get())));
    ASSERT_EQ(::connect(tcp.get(), where.get(), where.length), 0);
    EXPECT_THAT(adopted(std::move(tcp)), HasSubstr("not a Unix socket"));
}

}  // namespace
}  // namespace sinew::wire
