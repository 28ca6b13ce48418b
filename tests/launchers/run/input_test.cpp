// SPDX-License-Identifier: Apache-2.0
//
// Standard input reaches the right ranks completely, and the job never waits for it needlessly.
#include <gmock/gmock.h>

#include <csignal>

#include "src/base/text.hpp"
#include "tests/launchers/run/launched.hpp"
#include "tests/launchers/run/programs.hpp"
#include "tests/launchers/run/programs/lines.hpp"
#include "tests/support/leak_check.hpp"

namespace sinew::testing_support {
namespace {

using testing::HasSubstr;

class Input : public RunTest {
protected:
    static Launched::Setting given(std::string words) {
        return {.env = {}, .input = Launched::Input::given, .given = std::move(words)};
    }
    static std::string counted(int rank, std::string const& bytes) {
        Checksum sum;
        sum.feed(bytes);
        return text(rank, " read ", bytes.size(), " ", sum.value, "\n");
    }
};

TEST_F(Input, GoesToRankZero) {
    auto const ended = run({"-n", "3", rank_program(), "count"}, given("hello\nworld"));
    EXPECT_EQ(ended.code, 0);
    EXPECT_THAT(ended.out, HasSubstr(counted(0, "hello\nworld")));
    EXPECT_THAT(ended.out, HasSubstr(counted(1, "")));
    EXPECT_THAT(ended.out, HasSubstr(counted(2, "")));
}

TEST_F(Input, GoesToWhomItIsSaid) {
    auto const bytes = noise(500'000);
    auto const two = run({"--stdin", "2", "--fake-nodes", "2", "-n", "4", rank_program(), "count"},
                         given(bytes));
    EXPECT_THAT(two.out, HasSubstr(counted(2, bytes)));
    EXPECT_THAT(two.out, HasSubstr(counted(0, "")));
    auto const all = run(
        {"--stdin", "all", "--fake-nodes", "2", "-n", "4", rank_program(), "count"}, given(bytes));
    for (int rank = 0; rank < 4; ++rank) EXPECT_THAT(all.out, HasSubstr(counted(rank, bytes)));
    auto const none = run({"--stdin", "none", "-n", "2", rank_program(), "count"}, given("hello"));
    for (int rank = 0; rank < 2; ++rank) EXPECT_THAT(none.out, HasSubstr(counted(rank, "")));
}

TEST_F(Input, MayBeLarge) {
    constexpr std::size_t size = 64 << 20;
    std::string bytes = noise(1 << 20), whole;
    while (whole.size() < size) whole += bytes;
    Checksum sent, came;
    std::size_t total = 0;
    sent.feed(whole);
    auto setting = given(std::move(whole));
    setting.read = [&](std::string_view piece) {
        came.feed(piece);
        total += piece.size();
    };
    EXPECT_EQ(run({"-n", "1", "cat"}, std::move(setting), Seconds(60)).code, 0);
    EXPECT_EQ(total, size);
    EXPECT_EQ(came.value, sent.value);
}

TEST_F(Input, MayBeLeftUnread) {
    EXPECT_EQ(run({"-n", "2", "sh", "-c", "sleep 0.5"}, given(noise(5 << 20))).code, 0);
    EXPECT_EQ(run({"-n", "2", "sh", "-c", "exec <&-; sleep 0.5"}, given(noise(5 << 20))).code, 0);
    // One of several readers does not read; the others get everything.
    auto const bytes = noise(300'000);
    auto const script = text("[ $SINEW_RANK = 1 ] && exit 0; exec ", rank_program(), " count");
    auto const ended = run({"--stdin", "all", "-n", "3", "sh", "-c", script}, given(bytes));
    EXPECT_EQ(ended.code, 0);
    EXPECT_THAT(ended.out, HasSubstr(counted(0, bytes)));
    EXPECT_THAT(ended.out, HasSubstr(counted(2, bytes)));
}

TEST_F(Input, ComesAsItIsTyped) {
    Launched job({"-n", "1", "cat"}, {.env = {}, .input = Launched::Input::open, .given = {}});
    job.write_input("first\n");
    EXPECT_TRUE(job.says("first\n"));
    job.write_input("second\n");
    EXPECT_TRUE(job.says("second\n"));
    job.close_input();
    EXPECT_EQ(job.wait().code, 0);
}

TEST_F(Input, ThatStaysOpenHoldsNobodyUp) {
    Launched job({"-n", "2", "true"}, {.env = {}, .input = Launched::Input::open, .given = {}});
    EXPECT_EQ(job.wait().code, 0);
}

TEST_F(Input, MayBeClosed) {
    std::string const sinew = std::getenv("SINEW_TEST_COMMAND");
    Launched::Setting setting;
    setting.command = {"/bin/sh", "-c", "exec \"$0\" run -n 2 \"$1\" count <&-", sinew,
                       rank_program()};
    auto const ended = run({}, std::move(setting));
    EXPECT_EQ(ended.code, 0) << ended.err;
    EXPECT_THAT(ended.out, HasSubstr(counted(0, "")));
}

}  // namespace
}  // namespace sinew::testing_support
