// SPDX-License-Identifier: Apache-2.0
#include "src/manager/server/promises.hpp"

#include <gtest/gtest.h>

#include <sinew/task/encoding.hpp>

#include "src/process/rpc/process_address.hpp"

namespace sinew::manager {
namespace {

constexpr std::uint64_t here = 77;

Call call_of(Client client, std::uint64_t number) {
    Call made;
    made.client = client;
    made.number = number;
    return made;
}

/// An encoded handle of an object in the process with this origin.
Writer handle(std::uint64_t origin, ObjectId object) {
    Writer writer;
    process::ProcessAddress{origin, "", "", {}}.encode_to(writer);
    encode(writer, object);
    return writer;
}

TEST(Promises, GiveWhatHasWaitedInItsOrder) {
    Promises promises;
    promises.expect(1, 10, false);
    EXPECT_EQ(promises.find(1, 10)->state, Promises::State::waiting);
    EXPECT_EQ(promises.find(2, 10), nullptr) << "each client counts for itself";
    promises.wait(1, 10, call_of(1, 11));
    promises.wait(1, 10, call_of(1, 12));
    auto const settled = promises.answered(1, 10, Op::value, handle(here, 5).bytes(), here);
    ASSERT_TRUE(settled);
    EXPECT_EQ(settled->outcome.state, Promises::State::here);
    EXPECT_EQ(settled->outcome.object, 5U);
    ASSERT_EQ(settled->waited.size(), 2U);
    EXPECT_EQ(settled->waited[0].number, 11U);
    EXPECT_EQ(promises.find(1, 10)->object, 5U) << "for those that come later";
    EXPECT_EQ(promises.objects_of(1), std::vector<ObjectId>{5});
    EXPECT_FALSE(promises.answered(1, 10, Op::value, {}, here)) << "once";
    EXPECT_FALSE(promises.answered(1, 99, Op::value, {}, here)) << "nobody expects it";
    promises.forget(1, 10);
    EXPECT_TRUE(promises.empty());
}

TEST(Promises, TellElsewhereFromHere) {
    Promises promises;
    promises.expect(1, 10, false);
    promises.wait(1, 10, call_of(1, 11));
    auto const settled = promises.answered(1, 10, Op::value, handle(here + 1, 5).bytes(), here);
    EXPECT_EQ(settled->outcome.state, Promises::State::elsewhere);
    EXPECT_EQ(settled->waited.size(), 1U);
}

TEST(Promises, FailWithWhatTheyAreAnswered) {
    Promises promises;
    promises.expect(1, 10, true);
    std::byte const word[] = {std::byte{1}, std::byte{2}};
    auto const settled = promises.answered(1, 10, Op::failure, word, here);
    EXPECT_EQ(settled->outcome.state, Promises::State::failed);
    EXPECT_EQ(settled->outcome.op, Op::failure);
    EXPECT_EQ(settled->outcome.bytes.size(), 2U);
    promises.expect(1, 20, false);
    EXPECT_EQ(promises.answered(1, 20, Op::value, word, here)->outcome.state,
              Promises::State::failed)
        << "that is no handle";
}

TEST(Promises, OutliveTheirReplyUntilTheyAreKept) {
    Promises promises;
    promises.expect(1, 10, true);
    promises.wait(1, 10, call_of(1, 11));
    promises.forget(1, 10);
    ASSERT_NE(promises.find(1, 10), nullptr);
    Writer id;
    encode(id, ObjectId{5});
    EXPECT_EQ(promises.answered(1, 10, Op::value, id.bytes(), here)->waited.size(), 1U);
    EXPECT_TRUE(promises.empty());
}

TEST(Promises, CancelledAndLost) {
    Promises promises;
    promises.expect(1, 10, true);
    promises.expect(2, 10, true);
    promises.wait(1, 10, call_of(1, 11));
    EXPECT_FALSE(promises.cancel(2, 11));
    EXPECT_TRUE(promises.cancel(1, 11));
    EXPECT_FALSE(promises.cancel(1, 11));
    promises.lost(1);
    EXPECT_EQ(promises.find(1, 10), nullptr);
    EXPECT_NE(promises.find(2, 10), nullptr);
}

}  // namespace
}  // namespace sinew::manager
