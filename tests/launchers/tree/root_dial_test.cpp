// SPDX-License-Identifier: Apache-2.0
#include "launchers/tree/root_dial.hpp"

#include <gmock/gmock.h>
#include <unistd.h>

#include <memory>
#include <optional>
#include <sinew/error.hpp>

#include "src/wire/socket/sockets.hpp"

namespace sinew::launch {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
using wire::Address;
using wire::Dialled;

struct RootDialTest : testing::Test {
    // A port that is taken, but on which nobody listens.
    static Address refusing(UniqueFd& held) {
        held = wire::new_socket(AF_INET);
        auto const any = *wire::numeric_address(Address::tcp("127.0.0.1", 0));
        EXPECT_EQ(::bind(held.get(), any.get(), any.length), 0);
        return Address::tcp("127.0.0.1", wire::bound_port(held.get()));
    }

    std::unique_ptr<wire::Listener> listen(wire::Secret const& key) {
        return std::make_unique<wire::Listener>(
            loop, Address::tcp("127.0.0.1", 0), wire::Credentials{key, {}},
            wire::Listener::Options{},
            [this](std::unique_ptr<wire::Link> link) { accepted.push_back(std::move(link)); });
    }

    Dialled dial(std::vector<std::string> const& addresses, wire::Clock::duration patience) {
        std::optional<Dialled> result;
        RootDial const dialling(loop, addresses, {secret, {}}, {}, patience, [&](Dialled dialled) {
            result = std::move(dialled);
            loop.stop();
        });
        auto const limit = loop.after(60s, [this] { loop.stop(); });
        loop.run();
        EXPECT_TRUE(result.has_value());
        return result ? std::move(*result) : Dialled{};
    }

    wire::Loop loop;
    wire::Secret const secret = wire::Secret::random();
    std::vector<std::unique_ptr<wire::Link>> accepted;
};

TEST_F(RootDialTest, ConnectsOnceToARootThatAnswersAtItsFirstAddress) {
    auto const root = listen(secret);
    auto const address = root->address().text();
    auto const dialled = dial({address, address, address}, 10s);
    EXPECT_NE(dialled.link, nullptr);
    EXPECT_EQ(dialled.attempts, 1);
    EXPECT_EQ(accepted.size(), 1u);
}

TEST_F(RootDialTest, ReachesTheRootByAnotherAddressWhileTheFirstIsSilent) {
    UniqueFd const silent = wire::listening_socket(Address::tcp("127.0.0.1", 0));
    auto const root = listen(secret);
    auto const dialled = dial(
        {Address::tcp("127.0.0.1", wire::bound_port(silent.get())).text(), root->address().text()},
        30s);
    EXPECT_NE(dialled.link, nullptr);
}

// The agents of a Job dial a cluster IP, and a name that may not be known before the root runs.
TEST_F(RootDialTest, GoesOnWithTheFirstAddressWhileAnotherIsTried) {
    UniqueFd held;
    auto const late = refusing(held);
    std::unique_ptr<wire::Listener> root;
    auto const begins = loop.after(1500ms, [&] {
        held = {};
        root = std::make_unique<wire::Listener>(
            loop, late, wire::Credentials{secret, {}}, wire::Listener::Options{},
            [this](std::unique_ptr<wire::Link> link) { accepted.push_back(std::move(link)); });
    });
    auto const dialled = dial({late.text(), "tcp:nonesuch.invalid:7077"}, 30s);
    EXPECT_NE(dialled.link, nullptr);
    EXPECT_GT(dialled.attempts, 1);
}

TEST_F(RootDialTest, TellsThatNobodyAcceptedAConnection) {
    UniqueFd first, second;
    auto const one = refusing(first), other = refusing(second);
    auto const dialled = dial({one.text(), other.text()}, 200ms);
    EXPECT_EQ(dialled.link, nullptr);
    EXPECT_TRUE(dialled.unreachable);
    EXPECT_THAT(dialled.error, HasSubstr(one.text()));
}

TEST_F(RootDialTest, TellsWhyOneRefusedRatherThanThatOthersAreSilent) {
    UniqueFd held;
    auto const none = refusing(held);
    auto const of_another_job = listen(wire::Secret::random());
    auto const dialled = dial({none.text(), of_another_job->address().text()}, 400ms);
    EXPECT_EQ(dialled.link, nullptr);
    EXPECT_FALSE(dialled.unreachable);
    EXPECT_THAT(dialled.error, HasSubstr("does not know this job's secret"));
}

TEST_F(RootDialTest, NeedsAnAddress) { EXPECT_THROW(dial({}, 1s), UsageError); }

}  // namespace
}  // namespace sinew::launch
