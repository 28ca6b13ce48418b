// SPDX-License-Identifier: Apache-2.0
#include "launchers/agent/report_socket.hpp"

#include <gmock/gmock.h>
#include <sys/socket.h>
#include <unistd.h>

#include "src/base/waiting/spin_policy.hpp"
#include "src/wire/socket/sockets.hpp"
#include "tests/support/temp_folder.hpp"

namespace sinew::launch {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::IsEmpty;

class Reports : public testing::Test {
protected:
    UniqueFd connect() {
        UniqueFd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
        auto const address = wire::unix_address(socket.path());
        EXPECT_EQ(::connect(fd.get(), address.get(), address.length), 0);
        return fd;
    }
    static void say(UniqueFd const& fd, std::string const& bytes) {
        ::send(fd.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
    }
    /// Runs the loop until so many reports have been sent up, or nothing has come for a while.
    std::vector<std::string> until(std::size_t count, std::chrono::milliseconds limit = 5s) {
        loop.drive([&] { return sent.size() >= count; }, wire::Clock::now() + limit, sleeps);
        return sent;
    }

    testing_support::TempFolder folder;
    wire::Loop loop;
    SpinPolicy sleeps;
    std::vector<std::string> sent;
    ReportSocket socket{loop, folder.path() / "reports.sock",
                        [this](ReportHead const& head, std::string_view line) {
                            EXPECT_EQ(head.pid, ::getpid());
                            sent.emplace_back(head.gone != 0 ? "gone" : std::string(line));
                        }};
};

TEST_F(Reports, GoUpOneAfterTheOther) {
    auto const one = connect(), other = connect();
    say(one, "first\n");
    EXPECT_THAT(until(1), ElementsAre("first"));
    say(one, "second\n");
    say(other, "another\n");
    EXPECT_THAT(until(2, 100ms), ElementsAre("first")) << "the root has not taken it yet";
    socket.taken();
    EXPECT_EQ(until(2).size(), 2U);
    socket.taken();
    EXPECT_THAT(until(3), testing::UnorderedElementsAre("first", "second", "another"));
}

TEST_F(Reports, AreReplacedByNewerOnes) {
    auto const fd = connect();
    say(fd, "first\n");
    until(1);
    for (int i = 0; i < 1000; ++i) {
        say(fd, std::to_string(i) + "\n");
        loop.poll_once();
    }
    until(2, 200ms);
    socket.taken();
    EXPECT_THAT(until(2), ElementsAre("first", "999"));
}

TEST_F(Reports, ArriveInPiecesAndAfterTheEndOfTheirProgram) {
    {
        auto const fd = connect();
        for (char const each : std::string("whole line\nwithout its end")) say(fd, {each});
    }
    EXPECT_THAT(until(1), ElementsAre("whole line"));
    socket.taken();
    EXPECT_THAT(until(2), ElementsAre("whole line", "gone"));
}

TEST_F(Reports, OfWhoSendsWithoutEndAreNotKept) {
    auto const fd = connect();
    timeval const limit{.tv_sec = 5, .tv_usec = 0};
    ::setsockopt(fd.get(), SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
    std::string const much(16 << 10, 'x');
    for (int i = 0; i < 64 && sent.empty(); ++i) {
        ::send(fd.get(), much.data(), much.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
        until(1, 20ms);
    }
    EXPECT_THAT(sent, ElementsAre("gone"));
}

TEST_F(Reports, AreTakenFromManyAndFromNobodyWithoutALine) {
    std::vector<UniqueFd> many;
    for (int i = 0; i < 300; ++i) {
        many.push_back(connect());
        loop.poll_once();
    }
    EXPECT_THAT(until(1, 100ms), IsEmpty());
    say(many.front(), "\n\n\n");
    EXPECT_THAT(until(1, 100ms), IsEmpty());
    say(many.front(), "still served\n");
    EXPECT_THAT(until(1), ElementsAre("still served"));
}

}  // namespace
}  // namespace sinew::launch
