// SPDX-License-Identifier: Apache-2.0
// Payloads too large for a message, in both directions.
#include <gmock/gmock.h>

#include <algorithm>
#include <string>

#include "tests/pool/worker/worker_harness.hpp"

namespace sinew::pool::test {
namespace {

std::string pattern(std::size_t size) {
    std::string bytes(size, '\0');
    for (std::size_t i = 0; i < size; ++i) bytes[i] = static_cast<char>(i * 31 + i / 251);
    return bytes;
}
std::string echo(std::string const& text) { return text; }
std::string reversed_pattern(std::uint64_t size) {
    auto bytes = pattern(size);
    std::ranges::reverse(bytes);
    return bytes;
}

void echoes(std::size_t size) {
    Master master;
    master.job<&echo, std::string>(1);
    Writer writer;
    auto const sent = pattern(size);
    add_arguments<&echo>(writer, sent);
    master.batch({1, 10, 0, 1, 1, 0}, writer);
    ASSERT_TRUE(master.wait([&] { return master.settled(10, 1); }));
    EXPECT_EQ(master.heard[10].through_transfer, size > large);
    auto const values = results<std::string>(master.heard[10]);
    ASSERT_EQ(values.size(), 1u);
    EXPECT_TRUE(values[0] == sent);
}

TEST(WorkerPayload, GoesInOneMessageWhenSmall) { echoes(60 << 10); }
TEST(WorkerPayload, GoesInPiecesBeyond) { echoes(70 << 10); }
TEST(WorkerPayload, OfSeveralPiecesArrivesWhole) { echoes(5 << 20); }

WorkerStart start_with_files() {
    auto start = usual_start();
    start.maps_files = true;
    return start;
}

void ask_for_pattern(Master& master, std::uint64_t batch, std::uint64_t size) {
    Writer writer;
    add_arguments<&reversed_pattern>(writer, size);
    master.batch({1, batch, 0, 1, 1, 0}, writer);
}

TEST(WorkerPayload, OfLargeResultsIsReadWhereItLies) {
    Master master(start_with_files());
    master.job<&reversed_pattern, std::uint64_t>(1);
    ask_for_pattern(master, 10, 5 << 20);
    ask_for_pattern(master, 11, 7);
    ask_for_pattern(master, 12, 2 << 20);
    ASSERT_TRUE(master.wait([&] { return master.settled(11, 1) && master.settled(12, 1); }));
    EXPECT_EQ(master.files, 2);
    EXPECT_FALSE(master.heard[10].through_transfer);
    EXPECT_TRUE(results<std::string>(master.heard[10]).at(0) == reversed_pattern(5 << 20));
    EXPECT_TRUE(results<std::string>(master.heard[12]).at(0) == reversed_pattern(2 << 20));
    master.send(Kind::release);
    EXPECT_EQ(WEXITSTATUS(master.wait_end()), 0);
}

TEST(WorkerPayload, ComesInPiecesWhereItsFileCannotBeMapped) {
    Master master(start_with_files());
    master.maps_files = false;
    master.job<&reversed_pattern, std::uint64_t>(1);
    ask_for_pattern(master, 10, 5 << 20);
    ASSERT_TRUE(master.wait([&] { return master.settled(10, 1); }));
    EXPECT_EQ(master.files, 1);
    EXPECT_TRUE(master.heard[10].through_transfer);
    EXPECT_TRUE(results<std::string>(master.heard[10]).at(0) == reversed_pattern(5 << 20));
}

TEST(WorkerPayload, IsSplitAmongReportsWhenResultsAreMany) {
    Master master;
    master.job<&reversed_pattern, std::uint64_t>(1);
    Writer writer;
    for (int i = 0; i < 40; ++i) add_arguments<&reversed_pattern>(writer, std::uint64_t{50000});
    master.batch({1, 10, 0, 40, 1, 0}, writer);
    ASSERT_TRUE(master.wait([&] { return master.settled(10, 40); }));
    EXPECT_GT(master.heard[10].reports, 3);
    auto const values = results<std::string>(master.heard[10]);
    ASSERT_EQ(values.size(), 40u);
    auto const expected = reversed_pattern(50000);
    EXPECT_TRUE(std::ranges::all_of(values, [&](auto const& v) { return v == expected; }));
}

// The message may overtake the pieces, which use another link.
TEST(WorkerPayload, IsWaitedForWhileOtherBatchesRun) {
    Master master;
    master.job<&echo, std::string>(1);
    Writer writer;
    auto const sent = pattern(100 << 10);
    add_arguments<&echo>(writer, sent);
    PieceHead const piece{9, writer.size()};
    auto const half = writer.size() / 2;
    auto const send_piece = [&](std::span<std::byte const> bytes) {
        master.bulk->send_now(static_cast<std::uint8_t>(Kind::piece), 0,
                              {std::as_bytes(std::span(&piece, 1)), bytes});
    };
    send_piece(writer.bytes().first(half));
    master.send(Kind::tasks, TasksHead{1, 10, 0, 1, 1, 9});
    Writer small;
    add_arguments<&echo>(small, std::string("small"));
    master.batch({1, 11, 0, 1, 1, 0}, small);
    ASSERT_TRUE(master.wait([&] { return master.settled(11, 1); }));
    EXPECT_EQ(master.heard[10].done, 0u);
    send_piece(writer.bytes().subspan(half));
    ASSERT_TRUE(master.wait([&] { return master.settled(10, 1); }));
    EXPECT_TRUE(results<std::string>(master.heard[10])[0] == sent);
}

TEST(WorkerPayload, OfABatchGivenBackIsDropped) {
    Master master;
    master.job<&echo, std::string>(1);
    Writer writer;
    add_arguments<&echo>(writer, pattern(100 << 10));
    PieceHead const piece{9, writer.size()};
    master.send(Kind::tasks, TasksHead{1, 10, 0, 1, 1, 9});
    master.send(Kind::revoke, BatchHead{10});
    ASSERT_TRUE(master.wait([&] { return master.settled(10, 1); }));
    EXPECT_EQ(master.heard[10].kept, 0u);
    master.bulk->send_now(static_cast<std::uint8_t>(Kind::piece), 0,
                          {std::as_bytes(std::span(&piece, 1)), writer.bytes()});
    master.send(Kind::release);
    EXPECT_EQ(WEXITSTATUS(master.wait_end()), 0);
    EXPECT_EQ(master.heard[10].done, 0u);
}

TEST(Transfers, RefuseWhatDoesNotFit) {
    std::vector<std::byte> const bytes(1000);
    Transfers transfers;
    EXPECT_FALSE(transfers.add({{1, 1500}, bytes}));
    EXPECT_THROW(transfers.add({{1, 1500}, bytes}), DecodeError);
    Transfers others;
    EXPECT_FALSE(others.add({{1, 5000}, bytes}));
    EXPECT_THROW(others.add({{1, 6000}, bytes}), DecodeError);
    EXPECT_THROW(others.add({{2, 6000}, {}}), DecodeError);
}

TEST(Transfers, DropWhatNobodyTakes) {
    std::vector<std::byte> const bytes(1000);
    Transfers transfers;
    EXPECT_TRUE(transfers.add({{1, 1000}, bytes}));
    transfers.discard(1);
    EXPECT_EQ(transfers.size(), 0u);
    transfers.discard(2);
    EXPECT_FALSE(transfers.add({{2, 2000}, bytes}));
    EXPECT_FALSE(transfers.add({{2, 2000}, bytes}));
    EXPECT_EQ(transfers.size(), 0u);
}

}  // namespace
}  // namespace sinew::pool::test
