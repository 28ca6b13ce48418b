// SPDX-License-Identifier: Apache-2.0
#include "src/pool/transfers.hpp"
#include "src/pool/worker/messages.hpp"

#include <gmock/gmock.h>

#include <limits>
#include <sinew/task/encoding.hpp>
#include <vector>

namespace sinew::pool {
namespace {

using testing::HasSubstr;

Told told(Kind kind, Bytes bytes) { return read_told(static_cast<std::uint8_t>(kind), bytes); }

template <class Head>
std::vector<std::byte> with_rest(Head const& head, std::size_t rest) {
    auto const bytes = bytes_of(head);
    std::vector<std::byte> all(bytes.begin(), bytes.end());
    all.resize(all.size() + rest);
    return all;
}

TEST(WorkerMessages, AreTakenApart) {
    auto const function = with_rest(FunctionHead{1, 2, 3, 4}, 5);
    auto const one = std::get<FunctionTold>(told(Kind::function, function));
    EXPECT_EQ(one.head.hard_limit_ns, 4u);
    EXPECT_EQ(one.state.size(), 5u);
    auto const tasks = with_rest(TasksHead{1, 2, 3, 4, 5, 0}, 6);
    EXPECT_EQ(std::get<TasksTold>(told(Kind::tasks, tasks)).arguments.size(), 6u);
    EXPECT_EQ(std::get<RevokeTold>(told(Kind::revoke, bytes_of(BatchHead{7}))).batch, 7u);
    EXPECT_EQ(std::get<StopTaskTold>(told(Kind::stop_task, bytes_of(BatchHead{8}))).batch, 8u);
    EXPECT_EQ(std::get<ForgetTold>(told(Kind::forget, bytes_of(JobHead{9}))).job, 9u);
    EXPECT_TRUE(std::holds_alternative<ReleaseTold>(told(Kind::release, {})));
    EXPECT_TRUE(std::holds_alternative<FencedTold>(told(Kind::fenced, {})));
    auto const piece = with_rest(PieceHead{1, 2}, 3);
    EXPECT_EQ(read_piece(static_cast<std::uint8_t>(Kind::piece), piece).bytes.size(), 3u);
}

TEST(WorkerMessages, AreRefusedWhenCutShort) {
    for (auto const kind :
         {Kind::function, Kind::tasks, Kind::revoke, Kind::stop_task, Kind::forget}) {
        EXPECT_THROW(told(kind, {}), DecodeError);
        EXPECT_THROW(told(kind, std::vector<std::byte>(7)), DecodeError);
    }
}

TEST(WorkerMessages, AreRefusedWhenTheyMakeNoSense) {
    EXPECT_THROW(told(Kind::revoke, std::vector<std::byte>(9)), DecodeError);
    EXPECT_THROW(told(Kind::ready, std::vector<std::byte>(8)), DecodeError);
    EXPECT_THROW(told(Kind::tasks, bytes_of(TasksHead{1, 2, 3, 0, 1, 0})), DecodeError);
    auto const last = std::numeric_limits<std::uint64_t>::max();
    EXPECT_THROW(told(Kind::tasks, bytes_of(TasksHead{1, 2, last, 4, 1, 0})), DecodeError);
    EXPECT_THROW(told(Kind::tasks, with_rest(TasksHead{1, 2, 3, 4, 1, 5}, 6)), DecodeError);
    EXPECT_THROW(read_piece(static_cast<std::uint8_t>(Kind::piece), bytes_of(PieceHead{0, 1})),
                 DecodeError);
    EXPECT_THROW(read_piece(static_cast<std::uint8_t>(Kind::tasks), bytes_of(PieceHead{1, 1})),
                 DecodeError);
}

TEST(WorkerStart, TravelsWhole) {
    WorkerStart start;
    start.program = "build 1";
    start.initializer = 3;
    start.initializer_arguments = std::string("a\0b", 3);
    start.max_rss_bytes = 4;
    start.heartbeat_ms = 5;
    start.lease_ms = 6;
    start.meta = {.cpu = 7, .memory_mib = 8, .gpu = 9};
    Writer writer;
    encode(writer, start);
    Reader reader(writer.bytes());
    auto const again = decode<WorkerStart>(reader);
    EXPECT_EQ(reader.left(), 0u);
    EXPECT_EQ(again.program, start.program);
    EXPECT_EQ(again.initializer, start.initializer);
    EXPECT_EQ(again.initializer_arguments, start.initializer_arguments);
    EXPECT_EQ(again.max_rss_bytes, start.max_rss_bytes);
    EXPECT_EQ(again.heartbeat_ms, start.heartbeat_ms);
    EXPECT_EQ(again.lease_ms, start.lease_ms);
    EXPECT_EQ(again.meta, start.meta);
    for (std::size_t size = 0; size < writer.size(); ++size) {
        Reader cut(writer.bytes().first(size));
        EXPECT_THROW(decode<WorkerStart>(cut), DecodeError) << size;
    }
}

}  // namespace
}  // namespace sinew::pool
