// SPDX-License-Identifier: Apache-2.0
#include "src/ring/first_failure.hpp"

#include <gmock/gmock.h>

#include <csignal>
#include <stdexcept>

namespace sinew::ring {
namespace {

using testing::HasSubstr;

MemberRecord member(int rank, int failed) {
    MemberRecord record;
    record.rank = rank;
    record.host = "node-a";
    record.joined = true;
    record.failed = failed;
    return record;
}
MemberRecord thrower(int rank, int failed, std::exception const& error, char const* type) {
    auto record = member(rank, failed);
    record.error.emplace();
    record.error->type = type;
    record.error->what = error.what();
    record.ended = process::ChildEnd{.code = 1, .log = {}};
    return record;
}
MemberRecord dead(int rank, int failed, int signal) {
    auto record = member(rank, failed);
    record.ended = process::ChildEnd{.signal = signal, .log = {}};
    return record;
}
MemberRecord leaver(int rank) {
    auto record = member(rank, 0);
    record.returned = true;
    record.ended = process::ChildEnd{.code = 0, .log = {}};
    return record;
}

TEST(RingVerdict, IsNoneWhereAllHaveLeft) {
    std::vector const members{leaver(0), leaver(1)};
    EXPECT_FALSE(first_failure(members));
    EXPECT_EQ(status_of(members[1]).end, "returned");
}

TEST(RingVerdict, TakesADeathBeforeThoseWhoLostIt) {
    std::vector const members{thrower(0, 1, PeerLost("rank 1 has died"), "sinew::PeerLost"),
                              dead(1, 2, SIGKILL)};
    auto const failure = first_failure(members);
    ASSERT_TRUE(failure);
    EXPECT_EQ(failure->rank, 1);
    EXPECT_TRUE(failure->may_restart);
    EXPECT_EQ(failure->cause, nullptr);
    EXPECT_THAT(status_of(members[1]).end, HasSubstr("killed by signal 9"));
}

TEST(RingVerdict, TakesTheFirstOfEquals) {
    std::vector const members{thrower(0, 2, std::logic_error("late"), "std::logic_error"),
                              thrower(1, 1, std::out_of_range("early"), "std::out_of_range")};
    auto const failure = first_failure(members);
    ASSERT_TRUE(failure);
    EXPECT_EQ(failure->rank, 1);
    EXPECT_FALSE(failure->may_restart);
    EXPECT_THROW(std::rethrow_exception(failure->cause), std::out_of_range);
}

TEST(RingVerdict, SeesALostPeerBeneathAnotherException) {
    auto wrapped = thrower(0, 1, std::runtime_error("no step"), "std::runtime_error");
    wrapped.error->causes.push_back({"sinew::PeerLost", "rank 1 has died"});
    std::vector const members{wrapped, dead(1, 2, SIGSEGV)};
    EXPECT_EQ(first_failure(members)->rank, 1);
}

TEST(RingVerdict, TakesALostPeerWhereNobodyDied) {
    std::vector const members{leaver(0),
                              thrower(1, 1, PeerLost("connection reset"), "sinew::PeerLost")};
    auto const failure = first_failure(members);
    ASSERT_TRUE(failure);
    EXPECT_EQ(failure->rank, 1);
    EXPECT_TRUE(failure->may_restart);
    EXPECT_THROW(std::rethrow_exception(failure->cause), PeerLost);
}

TEST(RingVerdict, TellsTheEndsApart) {
    auto killed = dead(2, 0, SIGTERM);
    killed.signalled = true;
    EXPECT_THAT(status_of(killed).end, HasSubstr("ended by the ring (killed by signal 15"));
    auto early = dead(2, 1, SIGABRT);
    early.joined = false;
    EXPECT_THAT(status_of(early).end, HasSubstr("before it had joined"));
    auto exited = leaver(2);
    exited.returned = false;
    EXPECT_EQ(status_of(exited).end, "exited with code 0 before its target had returned");
    auto late = dead(2, 1, SIGSEGV);
    late.returned = true;
    EXPECT_FALSE(first_failure(std::span(&late, 1))->may_restart);
    EXPECT_THAT(status_of(late).end, HasSubstr("after its target had returned"));
}

}  // namespace
}  // namespace sinew::ring
