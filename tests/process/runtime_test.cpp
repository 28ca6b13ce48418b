// SPDX-License-Identifier: Apache-2.0
#include "src/process/runtime.hpp"

#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <map>
#include <sinew/error.hpp>
#include <sstream>

#include "src/base/text.hpp"
#include "tests/process/support/children.hpp"
#include "tests/support/child.hpp"

namespace sinew::process {
namespace {

using namespace std::chrono_literals;
using test::bytes;
using test::Heard;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr std::uint8_t ask = 200, answer = 201, end_yourself = 202;

/// Records messages of peers, with message kinds of the test.
struct Peers {
    static Peers& instance() {
        static Peers* const peers = new Peers;
        return *peers;
    }
    template <class Condition>
    bool wait_for(Condition holds) {
        std::unique_lock lock(Runtime::instance().guard());
        return changed.wait_for(lock, test::limit, holds);
    }
    std::condition_variable changed;
    std::map<std::shared_ptr<Peer>, std::vector<std::string>> answers;
    std::map<std::shared_ptr<Peer>, std::vector<std::string>> losses;
    int drained = 0;

private:
    Peers() {
        auto& runtime = Runtime::instance();
        std::lock_guard const lock(runtime.guard());
        runtime.serve({ask, end_yourself,
                       [this](auto const& peer, auto const& message) {
                           if (message.kind == end_yourself) ::raise(SIGKILL);
                           if (message.kind == ask) peer->send(answer, {message.payload});
                           else answers[peer].push_back(test::string(message.payload));
                           changed.notify_all();
                       },
                       [this](auto const& peer, auto const& why) {
                           losses[peer].push_back(why);
                           changed.notify_all();
                       },
                       [this](auto const&) {
                           ++drained;
                           changed.notify_all();
                       }});
    }
};

// Sends its address to the parent, and serves.
int be_a_peer(ChildStart& start) {
    test::ParentLinks parent(start);
    Peers::instance();
    auto& runtime = Runtime::instance();
    {
        std::lock_guard const lock(runtime.guard());
        if (test::string(start.message) == "network") runtime.listen_on_network("127.0.0.1");
        auto words = text(runtime.host(), "\n", runtime.origin());
        for (auto const& address : runtime.addresses()) words += "\n" + address;
        parent.send(words);
    }
    parent.serve([](auto&, auto const&) {});
    return 0;
}
[[maybe_unused]] bool const runtime_roles_added = (add_role({"peer", be_a_peer}), true);

struct Reached {
    explicit Reached(std::string_view how = "", std::string const& network = "")
        : child({.role = "peer",
                 .name = "peer",
                 .message = {bytes(how).begin(), bytes(how).end()},
                 .cpus = {},
                 .env = {},
                 .network = network}) {
        Peers::instance();
        EXPECT_TRUE(child.wait_for([](auto const& heard) { return !heard.control.empty(); }));
        std::istringstream lines(child.control.at(0));
        std::getline(lines, host);
        std::string number;
        std::getline(lines, number);
        origin = std::stoull(number);
        for (std::string line; std::getline(lines, line);) addresses.push_back(line);
    }
    std::shared_ptr<Peer> peer(std::string const& as_host) const {
        std::lock_guard const lock(Runtime::instance().guard());
        return Runtime::instance().peer(as_host, addresses);
    }
    Heard child;
    std::string host;
    std::uint64_t origin = 0;
    std::vector<std::string> addresses;
};

void send(std::shared_ptr<Peer> const& peer, std::uint8_t kind, std::string_view words) {
    std::lock_guard const lock(Runtime::instance().guard());
    peer->send(kind, {bytes(words)});
    peer->flush();
}

class RuntimeTest : public testing::Test {
protected:
    Peers& peers = Peers::instance();
};

void expect_talk(Reached& reached, std::string const& as_host) {
    auto& peers = Peers::instance();
    auto const peer = reached.peer(as_host);
    std::string const large(std::size_t{20} << 20, 'l');
    send(peer, ask, "one");  // before there is a link
    send(peer, ask, large);
    send(peer, ask, "three");
    ASSERT_TRUE(peers.wait_for([&] { return peers.answers[peer].size() == 3; }));
    EXPECT_EQ(peers.answers[peer][0], "one");
    EXPECT_TRUE(peers.answers[peer][1] == large);
    EXPECT_EQ(peers.answers[peer][2], "three");
    EXPECT_THAT(peer->name(), HasSubstr(text("pid ", reached.child.pid(), " on ")));
    EXPECT_FALSE(peer->lost());
    EXPECT_EQ(reached.peer(as_host), peer) << "one link for all";
}

void expect_loss(Reached& reached, std::string const& as_host) {
    auto& peers = Peers::instance();
    auto const peer = reached.peer(as_host);
    send(peer, end_yourself, "");
    ASSERT_TRUE(peers.wait_for([&] { return !peers.losses[peer].empty(); }));
    EXPECT_EQ(reached.child.wait_for_end().signal, SIGKILL);
    EXPECT_TRUE(peer->lost());
    EXPECT_THAT(peers.losses[peer], ElementsAre(HasSubstr("pid")));
    send(peer, ask, "nobody hears it");
}

// Another process may have got the address of one that has ended.
TEST_F(RuntimeTest, WhoHasTakenTheAddressOfAnotherIsNotTakenForIt) {
    for (std::string const how : {"", "network"}) {
        Reached one(how), other(how);
        auto const as_host = how.empty() ? one.host : std::string("elsewhere");
        auto const meant = [&](std::uint64_t origin) {
            std::lock_guard const lock(Runtime::instance().guard());
            return Runtime::instance().peer(as_host, other.addresses, origin);
        };
        auto const wrong = meant(one.origin), right = meant(other.origin);
        EXPECT_NE(wrong, right);
        send(wrong, end_yourself, "");  // must not reach the process that answers
        send(right, ask, "one");
        ASSERT_TRUE(peers.wait_for([&] { return !peers.losses[wrong].empty(); }));
        ASSERT_TRUE(peers.wait_for([&] { return peers.answers[right].size() == 1; }));
        EXPECT_THAT(peers.losses[wrong].at(0), HasSubstr("another process answers there"));
        EXPECT_FALSE(right->lost());
    }
}

TEST_F(RuntimeTest, PeersTalkOverUnixSockets) {
    Reached reached;
    EXPECT_EQ(reached.host, Runtime::instance().host());
    EXPECT_THAT(reached.addresses, ElementsAre(HasSubstr("unix:")));
    expect_talk(reached, reached.host);
    expect_loss(reached, reached.host);
}

TEST_F(RuntimeTest, PeersOfOtherHostsTalkOverTls) {
    Reached reached("network");
    EXPECT_THAT(reached.addresses, ElementsAre(HasSubstr("unix:"), HasSubstr("tcp:127.0.0.1:")));
    expect_talk(reached, "another host");
    expect_loss(reached, "another host");
}

// G17 (Fiber)
TEST_F(RuntimeTest, ListensOnTheNetworkItWasStartedWith) {
    Reached reached("", "127.0.0.1");
    EXPECT_THAT(reached.addresses, ElementsAre(HasSubstr("unix:"), HasSubstr("tcp:127.0.0.1:")));
    expect_talk(reached, "another host");
}

TEST_F(RuntimeTest, WhoHasEndedIsLostAtOnce) {
    Reached reached;
    reached.child.signal(SIGKILL);
    reached.child.wait_for_end();
    auto const since = wire::Clock::now();
    auto const peer = reached.peer(reached.host);
    send(peer, ask, "anybody?");
    ASSERT_TRUE(peers.wait_for([&] { return !peers.losses[peer].empty(); }));
    EXPECT_THAT(peers.losses[peer][0], HasSubstr("has ended"));
    EXPECT_LT(wire::Clock::now() - since, 5s) << "not after the patience of dialling";
    auto const elsewhere = reached.peer("another host");
    ASSERT_TRUE(peers.wait_for([&] { return !peers.losses[elsewhere].empty(); }));
    EXPECT_THAT(peers.losses[elsewhere][0], HasSubstr("cannot be reached from this host"));
}

TEST_F(RuntimeTest, AFullPeerSaysWhenItIsDrained) {
    Reached reached;
    auto const peer = reached.peer(reached.host);
    std::string const large(std::size_t{1} << 20, 'f');
    auto flow = wire::Flow::go;
    int const before = peers.drained;
    for (int i = 0; i < 100 && flow == wire::Flow::go; ++i) {
        std::lock_guard const lock(Runtime::instance().guard());
        flow = peer->send(ask, {bytes(large)});
    }
    EXPECT_EQ(flow, wire::Flow::full);
    EXPECT_TRUE(peers.wait_for([&] { return peers.drained > before; }));
}

TEST_F(RuntimeTest, ItsFolderIsPrivate) {
    auto& runtime = Runtime::instance();
    std::lock_guard const lock(runtime.guard());
    struct ::stat about {};
    ASSERT_EQ(::stat(runtime.folder().c_str(), &about), 0);
    EXPECT_EQ(about.st_mode & 0777, 0700u);
    EXPECT_THAT(runtime.name(), HasSubstr(text("pid ", ::getpid(), " on ")));
    EXPECT_EQ(runtime.addresses(), runtime.addresses());
}

TEST_F(RuntimeTest, IsNotForForks) {
    Runtime::instance();
    testing_support::Child fork([] {
        try {
            Runtime::instance();
        } catch (UsageError const&) {
            return Runtime::forked() ? 0 : 2;
        }
        return 1;
    });
    EXPECT_EQ(fork.wait(), 0);
    EXPECT_FALSE(Runtime::forked());
}

TEST_F(RuntimeTest, WrongAddressesAreRefused) {
    std::lock_guard const lock(Runtime::instance().guard());
    EXPECT_THROW(Runtime::instance().peer("here", {}), UsageError);
    EXPECT_THROW(Runtime::instance().peer("here", {"carrier pigeon"}), UsageError);
}

}  // namespace
}  // namespace sinew::process
