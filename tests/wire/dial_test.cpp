// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <sys/socket.h>
#include <unistd.h>

#include <memory>
#include <string>
#include <vector>

#include "src/wire/link.hpp"
#include "src/wire/socket/sockets.hpp"
#include "tests/wire/stubborn_listener.hpp"
#include "tests/wire/support.hpp"

namespace sinew::wire {
namespace {

using namespace std::chrono_literals;
using test::Door;
using test::run_until;
using testing::HasSubstr;

constexpr auto over_tcp = Address::Family::tcp;

TEST(Dial, WaitsForAListenerThatComesLater) {
    test::PrivateFolder folder;
    Loop loop;
    Secret const secret = Secret::random();
    std::unique_ptr<Link> accepted, dialled;
    std::unique_ptr<Listener> listener;
    auto const later = loop.after(100ms, [&] {
        listener = std::make_unique<Listener>(
            loop, folder.socket(), Credentials{secret, {}}, Listener::Options{},
            [&](std::unique_ptr<Link> link) { accepted = std::move(link); });
    });
    auto const handle = dial(loop, folder.socket(), {secret, {}}, {}, 30s,
                             [&](Dialled result) { dialled = std::move(result.link); });
    EXPECT_TRUE(run_until(loop, [&] { return accepted && dialled; }));
}

TEST(Dial, GivesUpWhenItsPatienceIsOver) {
    test::PrivateFolder folder;
    Loop loop;
    Dialled result;
    auto const handle = dial(loop, folder.socket(), {Secret::random(), {}}, {}, 100ms,
                             [&](Dialled outcome) { result = std::move(outcome); });
    EXPECT_TRUE(run_until(loop, [&] { return !result.error.empty(); }));
    EXPECT_THAT(result.error, HasSubstr(folder.socket().text() + ": not reached within "));
    EXPECT_THAT(result.error, HasSubstr("(No such file or directory). Is the other end running?"));
    EXPECT_TRUE(result.unreachable);
    EXPECT_GT(result.attempts, 1);
}

TEST(Dial, TellsAnEndThatIsSilentFromOneThatIsNotThere) {
    Loop loop;
    UniqueFd const silent = listening_socket(Address::tcp("127.0.0.1", 0));
    Dialled result;
    auto const handle =
        dial(loop, Address::tcp("127.0.0.1", bound_port(silent.get())), {Secret::random(), {}}, {},
             100ms, [&](Dialled outcome) { result = std::move(outcome); });
    EXPECT_TRUE(run_until(loop, [&] { return !result.error.empty(); }));
    EXPECT_FALSE(result.unreachable);
    EXPECT_EQ(result.attempts, 1);
}

TEST(Dial, AsksForNames) {
    Door door(over_tcp);
    Dialled dialled;
    auto const handle =
        dial(door.loop, Address::tcp("localhost", door.listener->address().port), {door.secret, {}},
             {}, 30s, [&](Dialled result) { dialled = std::move(result); });
    EXPECT_TRUE(run_until(door.loop, [&] { return dialled.link != nullptr; }));
    EXPECT_GE(dialled.attempts, 1);
    EXPECT_FALSE(dialled.unreachable);
}

TEST(Dial, IsSilentOnceItsHandleIsGone) {
    Door door(over_tcp);
    bool called = false;
    for (auto const wait : {0ms, 1ms, 3ms}) {
        auto handle = dial(door.loop, door.listener->address(), {door.secret, {}}, {}, 30s,
                           [&](Dialled) { called = true; });
        if (wait > 0ms) {
            test::run_for(door.loop, wait);
            if (called) break;  // the dial was quicker
        }
        handle = {};
        test::run_for(door.loop, 30ms);
        EXPECT_FALSE(called);
    }
}

TEST(Dial, RefusesAListenerThatSpeaksSomethingElse) {
    Loop loop;
    UniqueFd const impostor = listening_socket(Address::tcp("127.0.0.1", 0));
    std::vector<UniqueFd> taken;
    auto const accepting = loop.readable(impostor.get(), [&] {
        taken.emplace_back(::accept4(impostor.get(), nullptr, nullptr, SOCK_CLOEXEC));
        (void)!::write(taken.back().get(), "220 smtp.example ESMTP\r\n", 24);
    });
    std::string error;
    auto const handle =
        dial(loop, Address::tcp("127.0.0.1", bound_port(impostor.get())), {Secret::random(), {}},
             {}, 30s, [&](Dialled result) { error = result.error; });
    EXPECT_TRUE(run_until(loop, [&] { return !error.empty(); }));
    EXPECT_THAT(error, HasSubstr("does not know this job's secret"));
}

// G17 (Fiber): any address of any interface and a free port can be used.
TEST(Dial, MayUseIpv6) {
    if (interface_of("::1").name.empty()) GTEST_SKIP() << "this machine has no IPv6";
    Loop loop;
    Secret const secret = Secret::random();
    std::unique_ptr<Link> accepted, dialled;
    Listener const listener(loop, Address::tcp("::1", 0), Credentials{secret, {}}, {},
                            [&](std::unique_ptr<Link> link) { accepted = std::move(link); });
    EXPECT_EQ(listener.address().host, "::1");
    EXPECT_NE(listener.address().port, 0);
    auto const handle = dial(loop, listener.address(), {secret, {}}, {}, 30s,
                             [&](Dialled result) { dialled = std::move(result.link); });
    EXPECT_TRUE(run_until(loop, [&] { return accepted && dialled; }));
}

}  // namespace
}  // namespace sinew::wire
