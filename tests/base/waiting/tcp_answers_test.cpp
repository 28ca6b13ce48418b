// SPDX-License-Identifier: Apache-2.0
#include "src/base/waiting/tcp_answers.hpp"

#include <gtest/gtest.h>
#include <linux/filter.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cerrno>
#include <string>
#include <thread>

#include "src/base/system/unique_fd.hpp"

namespace sinew {
namespace {

using namespace std::chrono_literals;
using Sample = TcpAnswers::Sample;

struct TcpAnswersTest : testing::Test {
    TcpAnswers answers;
    UniqueFd writer, reader;
    void connect() {
        UniqueFd const listener(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        socklen_t size = sizeof address;
        auto* const name = reinterpret_cast<sockaddr*>(&address);
        ASSERT_EQ(::bind(listener.get(), name, size), 0);
        ASSERT_EQ(::listen(listener.get(), 1), 0);
        ASSERT_EQ(::getsockname(listener.get(), name, &size), 0);
        writer = UniqueFd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
        ASSERT_EQ(::connect(writer.get(), name, size), 0);
        reader = UniqueFd(::accept(listener.get(), nullptr, nullptr));
        ASSERT_TRUE(reader);
    }
    TcpAnswers::Clock::time_point const begin{1000s};
    TcpAnswers::Clock::duration at(TcpAnswers::Clock::duration when, Sample const& sample) {
        return answers.silence(begin + when, sample);
    }
};

TEST_F(TcpAnswersTest, AnIdleConnectionIsNotSilent) {
    for (int second = 0; second < 100; ++second)
        EXPECT_EQ(at(second * 1s, {.unanswered = 0, .since_answer = 600s + second * 1s}), 0s);
}

TEST_F(TcpAnswersTest, AHostThatIsGoneIsSilentFromWhenItWasAsked) {
    // Ten idle minutes before do not count.
    EXPECT_EQ(at(0s, {.unanswered = 0, .since_answer = 600s}), 0s);
    EXPECT_EQ(at(1s, {.unanswered = 1, .since_answer = 601s}), 0s);
    EXPECT_EQ(at(2s, {.unanswered = 3, .since_answer = 602s}), 1s);
    EXPECT_EQ(at(11s, {.unanswered = 6, .since_answer = 611s}), 10s);
}

TEST_F(TcpAnswersTest, AHostWhoseProcessIsStoppedAnswersProbes) {
    for (int second = 0; second < 600; ++second)
        EXPECT_LE(at(second * 1s, {.unanswered = static_cast<unsigned>(second % 2),
                                   .since_answer = (second % 120) * 1s}),
                  0s)
            << second;
}

TEST_F(TcpAnswersTest, AnAnswerBeginsTheWaitAnew) {
    EXPECT_EQ(at(0s, {.unanswered = 2, .since_answer = 0s}), 0s);
    EXPECT_EQ(at(6s, {.unanswered = 5, .since_answer = 6s}), 6s);
    EXPECT_EQ(at(9s, {.unanswered = 2, .since_answer = 1s}), 1s);
    EXPECT_EQ(at(10s, {.unanswered = 0, .since_answer = 0s}), 0s);
    EXPECT_EQ(at(12s, {.unanswered = 2, .since_answer = 2s}), 0s);
}

// With the kernel's real counters: the other end does not read, and all windows are full.
TEST_F(TcpAnswersTest, WhoDoesNotReadIsNotGone) {
    ASSERT_NO_FATAL_FAILURE(connect());
    std::string const bytes(1 << 20, 'x');
    while (::send(writer.get(), bytes.data(), bytes.size(), MSG_DONTWAIT | MSG_NOSIGNAL) > 0) {}
    ASSERT_EQ(errno, EAGAIN);
    auto const until = TcpAnswers::Clock::now() + 3s;
    while (TcpAnswers::Clock::now() < until) {
        auto const sample = TcpAnswers::sample(writer.get());
        ASSERT_TRUE(sample);
        EXPECT_LT(answers.silence(TcpAnswers::Clock::now(), *sample), 2s);
        std::this_thread::sleep_for(100ms);
    }
}

// With the kernel's real counters: the other end drops all segments, like a host that is down.
TEST_F(TcpAnswersTest, WhoseSegmentsAreDroppedIsGone) {
    ASSERT_NO_FATAL_FAILURE(connect());
    sock_filter drop[] = {BPF_STMT(BPF_RET | BPF_K, 0)};
    sock_fprog const program{1, drop};
    ASSERT_EQ(::setsockopt(reader.get(), SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof program),
              0);
    ASSERT_EQ(::send(writer.get(), "x", 1, MSG_NOSIGNAL), 1);
    TcpAnswers::Clock::duration silence{};
    auto const until = TcpAnswers::Clock::now() + 40s;
    while (silence < 2s && TcpAnswers::Clock::now() < until) {
        std::this_thread::sleep_for(100ms);
        auto const sample = TcpAnswers::sample(writer.get());
        ASSERT_TRUE(sample);
        silence = answers.silence(TcpAnswers::Clock::now(), *sample);
    }
    EXPECT_GE(silence, 2s);
}

TEST(TcpAnswersSample, IsOfTcpAlone) {
    int ends[2] = {};
    ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    UniqueFd const one(ends[0]), other(ends[1]);
    EXPECT_FALSE(TcpAnswers::sample(one.get()));
    EXPECT_FALSE(TcpAnswers::sample(-1));
}

}  // namespace
}  // namespace sinew
