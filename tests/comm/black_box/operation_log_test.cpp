// SPDX-License-Identifier: Apache-2.0
#include "src/comm/black_box/operation_log.hpp"

#include <gmock/gmock.h>

#include <thread>

namespace sinew::detail {
namespace {

OperationRecord allreduce_of(std::uint64_t count) {
    return {.count = count,
            .collective = Collective::allreduce,
            .type = DataType::Kind::f32,
            .op = static_cast<std::uint8_t>(ReduceOp::Kind::sum)};
}

TEST(OperationLog, KeepsWhatWasEntered) {
    OperationLog log("world", 1, {"a", "b"});
    EXPECT_EQ(log.entered(), 0u);
    EXPECT_FALSE(log.at(0));
    EXPECT_FALSE(log.at(1));
    EXPECT_EQ(log.enter(allreduce_of(1000)), 1u);
    EXPECT_TRUE(log.inside());
    EXPECT_EQ(log.at(1)->entered, 0);
    log.note_wait();
    auto const entered = log.at(1)->entered;
    EXPECT_GT(entered, 0);
    log.note_wait();
    EXPECT_EQ(log.at(1)->entered, entered);
    log.leave();
    EXPECT_FALSE(log.inside());
    EXPECT_EQ(log.at(1)->left, 0);
    log.enter({.count = 7, .root = 3, .collective = Collective::broadcast});
    log.leave(true);
    EXPECT_GE(log.at(2)->left, entered);
    EXPECT_EQ(log.at(1)->text(), "allreduce(f32 x 1000, sum)");
    EXPECT_EQ(log.at(2)->text(), "broadcast(u8 x 7, root 3)");
    EXPECT_EQ(log.at(2)->sequence, 2u);
    EXPECT_FALSE(log.at(3));
}

TEST(OperationLog, KeepsEveryFieldOfAnyRecord) {
    OperationLog log("world", 0, {"a"});
    std::uint64_t const most = (std::uint64_t{1} << 40) - 1;
    for (std::uint64_t const count : {std::uint64_t{0}, std::uint64_t{1}, most, ~std::uint64_t{0}})
        for (int const root : {-1, 0, 1, 8'000'000})
            for (bool const device : {false, true}) {
                OperationRecord record{.count = count,
                                       .entered = 5,
                                       .root = root,
                                       .collective = Collective::barrier,
                                       .type = DataType::Kind::opaque,
                                       .device = device};
                auto const kept = *log.at(log.enter(record));
                EXPECT_EQ(kept.count, std::min(count, most));
                EXPECT_EQ(kept.root, root);
                EXPECT_EQ(kept.device, device);
                EXPECT_EQ(kept.type, DataType::Kind::opaque);
                EXPECT_EQ(kept.op, OperationRecord::no_op);
                EXPECT_EQ(kept.entered, 5);
                EXPECT_EQ(kept.left, 0);
            }
}

TEST(OperationLog, KeepsTheLast4096AsItGrows) {
    OperationLog log("world", 0, {"a"});
    for (std::uint64_t sequence = 1; sequence <= 10'000; ++sequence) {
        ASSERT_EQ(log.enter(allreduce_of(sequence)), sequence);
        log.leave();
        std::uint64_t const kept = std::min<std::uint64_t>(sequence, OperationLog::most);
        for (std::uint64_t const back : {std::uint64_t{0}, kept / 2, kept - 1})
            ASSERT_EQ(log.at(sequence - back)->count, sequence - back) << sequence;
        if (sequence > OperationLog::most) {
            ASSERT_FALSE(log.at(sequence - OperationLog::most));
        }
    }
}

TEST(OperationLog, IsReadWhileItIsWritten) {
    OperationLog log("world", 0, {"a"});
    std::atomic<bool> ended = false;
    std::jthread reader([&] {
        while (!ended) {
            std::uint64_t const last = log.entered();
            for (std::uint64_t back = 0; back < 70 && back < last; ++back)
                if (auto const record = log.at(last - back)) {
                    ASSERT_EQ(record->sequence, last - back);
                    ASSERT_EQ(record->count, last - back);
                }
        }
    });
    for (std::uint64_t sequence = 1; sequence <= 300'000; ++sequence) {
        log.enter(allreduce_of(sequence));
        log.leave();
    }
    ended = true;
}

TEST(OperationRecord, TellsCallsApart) {
    auto const base = allreduce_of(10);
    EXPECT_TRUE(base.same_call(base));
    auto later = base;
    later.sequence = 9;
    later.entered = 1;
    EXPECT_TRUE(base.same_call(later));
    for (auto const& change : std::vector<std::function<void(OperationRecord&)>>{
             [](auto& r) { r.count = 11; }, [](auto& r) { r.root = 0; },
             [](auto& r) { r.collective = Collective::reduce; },
             [](auto& r) { r.type = DataType::Kind::i32; }, [](auto& r) { r.op = 3; },
             [](auto& r) { r.device = true; }}) {
        auto other = base;
        change(other);
        EXPECT_FALSE(base.same_call(other));
    }
}

}  // namespace
}  // namespace sinew::detail
