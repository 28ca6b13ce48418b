// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <gmock/gmock.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <stdexcept>
#include <thread>
#include <vector>

#include "tests/wire/support.hpp"

namespace sinew::wire {
namespace {

using namespace std::chrono_literals;
using test::bytes;
using test::Pair;
using test::run_until;
using testing::HasSubstr;

LinkOptions quick() {
    LinkOptions options;
    options.heartbeat = 50ms;
    options.suspect_after = 400ms;
    options.dead_after = 2s;
    return options;
}

/// This end of a link to a process that can be stopped and killed.
struct Remote {
    explicit Remote(Address::Family family, LinkOptions const& options = quick(),
                    LinkOptions const& its = quick(), int flood = 0)
        : flooded{pipe()},
          listener(loop, test::address_of(family, folder), {secret, {0, 0, 0, "root"}}, {options},
                   [this](std::unique_ptr<Link> taken) { end.take(std::move(taken)); }),
          address(listener.address()),
          child(test::fork_peer([&](Loop& its_loop) { live(its_loop, its, flood); })) {
        if (!run_until(loop, [&] { return end.link != nullptr; }))
            throw std::runtime_error("the peer did not come");
    }

    /// Runs in the child: answers everything until the link ends.
    void live(Loop& its, LinkOptions const& options, int flood) const {
        std::unique_ptr<Link> link;
        auto const dialling =
            dial(its, address, {secret, {7, 2, 9, "rank 2 on node-h"}}, options, 30s,
                 [&](Dialled result) {
                     link = std::move(result.link);
                     link->on({[&](Message const& m) { link->send(m.kind, 0, {m.payload}); },
                               [&](LinkEnd const&) { its.stop(); }});
                     for (int i = 0; i < flood; ++i) link->send(1, 0, {bytes("flood")});
                 });
        auto const watching = its.every(1ms, [&] {
            if (flood > 0 && link && link->queued() == 0) {
                EXPECT_EQ(::write(flooded[1], "x", 1), 1);
                flood = 0;
            }
        });
        its.run();
    }

    ~Remote() {
        for (int const fd : flooded) ::close(fd);
    }
    static std::array<int, 2> pipe() {
        std::array<int, 2> ends{};
        EXPECT_EQ(::pipe2(ends.data(), O_CLOEXEC), 0);
        return ends;
    }

    std::array<int, 2> flooded;  ///< a byte arrives when the child has sent its flood
    test::PrivateFolder folder;
    Loop loop;
    Secret secret = Secret::random();
    test::End end;
    Listener listener;
    Address address;
    testing_support::Child child;
};

class LinkLoss : public testing::TestWithParam<Address::Family> {};

TEST_P(LinkLoss, TellsOnceWhoWasKilled) {
    Remote remote(GetParam());
    remote.child.kill(SIGKILL);
    ASSERT_TRUE(run_until(remote.loop, [&] { return !remote.end.ends.empty(); }));
    test::run_for(remote.loop, 300ms);
    ASSERT_EQ(remote.end.ends.size(), 1u);
    auto const& end = remote.end.ends[0];
    EXPECT_EQ(end.cause, LinkEnd::Cause::lost);
    EXPECT_EQ(end.peer.node, 7u);
    EXPECT_EQ(end.peer.slot, 2u);
    EXPECT_EQ(end.peer.epoch, 9u);
    EXPECT_THAT(end.text, HasSubstr("rank 2 on node-h: connection lost"));
}

TEST_P(LinkLoss, DeliversWhatTheKilledHadSent) {
    Remote remote(GetParam(), quick(), quick(), 1000);
    char byte;
    ASSERT_EQ(::read(remote.flooded[0], &byte, 1), 1);  // all is sent, and not read here
    remote.child.kill(SIGKILL);
    remote.child.wait();
    // Sending fails first; messages that have arrived must not be lost.
    for (int i = 0; i < 10; ++i) remote.end.link->send(1, 0, {bytes("too late")});
    ASSERT_TRUE(run_until(remote.loop, [&] { return !remote.end.ends.empty(); }));
    EXPECT_EQ(remote.end.messages.size(), 1000u);
    EXPECT_EQ(remote.end.ends[0].cause, LinkEnd::Cause::lost);
}

TEST_P(LinkLoss, SuspectsAndThenGivesUpAStoppedPeer) {
    Remote remote(GetParam());
    remote.child.kill(SIGSTOP);
    ASSERT_TRUE(run_until(remote.loop, [&] { return !remote.end.ends.empty(); }));
    ASSERT_FALSE(remote.end.liveness.empty());
    EXPECT_EQ(remote.end.liveness.back(), Liveness::suspect);
    EXPECT_EQ(remote.end.ends[0].cause, LinkEnd::Cause::silent);
    EXPECT_THAT(remote.end.ends[0].text, HasSubstr("rank 2 on node-h: no sign of life for "));
}

TEST_P(LinkLoss, TakesBackASuspectThatGoesOn) {
    LinkOptions options = quick();
    options.dead_after = 20s;
    Remote remote(GetParam(), options);
    remote.child.kill(SIGSTOP);
    ASSERT_TRUE(run_until(remote.loop, [&] { return !remote.end.liveness.empty(); }));
    remote.child.kill(SIGCONT);
    ASSERT_TRUE(run_until(remote.loop, [&] { return remote.end.liveness.size() == 2; }));
    EXPECT_EQ(remote.end.liveness[0], Liveness::suspect);
    EXPECT_EQ(remote.end.liveness[1], Liveness::alive);
    EXPECT_TRUE(remote.end.ends.empty());
}

TEST_P(LinkLoss, DoesNotBlameAPeerForItsOwnDelay) {
    LinkOptions options = quick();
    LinkOptions patient;  // this end is silent, and the other end would be right
    patient.heartbeat = 50ms;
    Remote remote(GetParam(), options, patient);
    remote.loop.post([] { std::this_thread::sleep_for(3s); });
    test::run_for(remote.loop, 10ms);   // returns after the delay
    test::run_for(remote.loop, 500ms);  // time to judge
    EXPECT_TRUE(remote.end.ends.empty());
}

TEST_P(LinkLoss, KeepsAnIdlePeerAlive) {
    LinkOptions options = quick();
    options.dead_after = 4s;
    Remote remote(GetParam(), options, options);
    test::run_for(remote.loop, 5s);  // longer than dead_after: heartbeats go both ways
    EXPECT_TRUE(remote.end.ends.empty());
    EXPECT_TRUE(remote.end.liveness.empty() || remote.end.liveness.back() == Liveness::alive);
    remote.end.link->send(1, 0, {bytes("still there")});
    EXPECT_TRUE(run_until(remote.loop, [&] { return !remote.end.messages.empty(); }));
}

TEST_P(LinkLoss, LeavesNoDescriptors) {
    { Pair warm_up(GetParam()); }
    int const before = test::open_descriptors();
    for (int i = 0; i < 50; ++i) {
        Pair pair(GetParam());
        if (i % 2 == 0) pair.dialled.link->close();
        if (i % 3 == 0) pair.accepted.link.reset();
        pair.loop.post([&] { pair.loop.stop(); });
        pair.loop.run();
    }
    EXPECT_EQ(test::open_descriptors(), before);
}

TEST_P(LinkLoss, PassesNoDescriptorsToPrograms) {
    std::vector<bool> before;
    for (int fd = 0; fd < 200; ++fd) before.push_back(::fcntl(fd, F_GETFD) >= 0);
    Pair pair(GetParam());
    auto const signals = pair.loop.signals({SIGUSR1}, [](int) {});
    auto const timer = pair.loop.after(1ms, [] {});
    for (int fd = 0; fd < 200; ++fd) {
        int const flags = ::fcntl(fd, F_GETFD);
        if (before[static_cast<std::size_t>(fd)] || flags < 0) continue;
        EXPECT_NE(flags & FD_CLOEXEC, 0) << fd;
    }
}

INSTANTIATE_TEST_SUITE_P(Over, LinkLoss,
                         testing::Values(Address::Family::unix_socket, Address::Family::tcp),
                         [](auto const& each) {
                             return each.param == Address::Family::tcp ? "tcp" : "unix";
                         });

}  // namespace
}  // namespace sinew::wire
