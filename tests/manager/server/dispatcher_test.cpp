// SPDX-License-Identifier: Apache-2.0
#include "src/manager/server/dispatcher.hpp"

#include <gtest/gtest.h>

namespace sinew::manager {
namespace {

Call call(Client client, std::uint64_t number) {
    Call made;
    made.client = client;
    made.number = number;
    return made;
}

struct ManagerCore : testing::Test {
    /// Makes an object of client 1.
    ObjectId object(unsigned parallel = 1) {
        auto making = call(1, 0);
        making.makes = true;
        auto const id = dispatcher.add(parallel, "type", std::move(making));
        auto const work = dispatcher.take();
        EXPECT_EQ(work->calls->size(), 1U);
        dispatcher.finished(*work, std::make_shared<int>(0));
        return id;
    }
    Dispatcher dispatcher;
};

TEST_F(ManagerCore, HeldBackUntilThoseBeforeHaveCome) {
    auto const id = object();
    dispatcher.arrive(id, 2, call(1, 13));
    dispatcher.arrive(id, 3, call(1, 14));
    EXPECT_FALSE(dispatcher.has_work());
    dispatcher.skip(id, 1, 1);
    auto const work = dispatcher.take();
    ASSERT_EQ(work->calls->size(), 2U);
    EXPECT_EQ((*work->calls)[0].number, 13U);
    EXPECT_EQ((*work->calls)[1].number, 14U);
}

TEST_F(ManagerCore, ASequenceNumberCountsOnce) {
    auto const id = object();
    EXPECT_TRUE(dispatcher.arrive(id, 1, call(1, 11)));
    EXPECT_FALSE(dispatcher.arrive(id, 1, call(1, 99)));
    EXPECT_TRUE(dispatcher.arrive(id, 3, call(1, 13)));
    EXPECT_FALSE(dispatcher.arrive(id, 3, call(1, 98)));
    EXPECT_TRUE(dispatcher.arrive(id, 2, call(1, 12)));
    EXPECT_EQ(dispatcher.take()->calls->size(), 3U);
}

TEST_F(ManagerCore, RunsNoMoreAtATimeThanAllowed) {
    auto const id = object(2);
    for (std::uint64_t i = 1; i < 5; ++i) dispatcher.arrive(id, i, call(1, i));
    auto const work = dispatcher.take();
    EXPECT_EQ(work->calls->size(), 1U);
    EXPECT_EQ(dispatcher.take()->calls->size(), 1U);
    EXPECT_FALSE(dispatcher.take());
    dispatcher.finished(*work, nullptr);
    EXPECT_TRUE(dispatcher.take());
    EXPECT_FALSE(dispatcher.take());
}

TEST_F(ManagerCore, ObjectsTakeTurns) {
    auto const one = object(), two = object();
    for (std::uint64_t i = 1; i < 999; ++i) dispatcher.arrive(one, i, call(1, i));
    dispatcher.arrive(two, 1, call(1, 2));
    auto const first = dispatcher.take();
    EXPECT_EQ(first->object, one);
    EXPECT_LT(first->calls->size(), 998U) << "not all in a row";
    dispatcher.finished(*first, nullptr);
    EXPECT_EQ(dispatcher.take()->object, two);
}

TEST_F(ManagerCore, WhatCouldNotBeMadeIsGone) {
    auto const id = dispatcher.add(1, "type", call(1, 1));
    auto const work = dispatcher.take();
    dispatcher.arrive(id, 1, call(1, 2));
    auto const unmade = dispatcher.finished(*work, nullptr);
    ASSERT_EQ(unmade.size(), 1U);
    EXPECT_EQ(unmade.front().number, 2U);
    EXPECT_FALSE(dispatcher.arrive(id, 2, call(1, 3)));
    EXPECT_EQ(dispatcher.objects(), 0U);
    EXPECT_FALSE(dispatcher.take());
}

TEST_F(ManagerCore, DestroysWhatNobodyHoldsAfterItsCalls) {
    auto const id = object();
    dispatcher.hold(id, 2);
    dispatcher.arrive(id, 1, call(1, 2));
    dispatcher.release(id, 1);
    dispatcher.lost(2);
    auto work = dispatcher.take();
    EXPECT_EQ(work->calls->size(), 1U);
    EXPECT_FALSE(dispatcher.take());
    dispatcher.finished(*work, nullptr);
    work = dispatcher.take();
    ASSERT_TRUE(work);
    EXPECT_TRUE(work->calls == nullptr);
    EXPECT_TRUE(work->instance);
    EXPECT_EQ(dispatcher.objects(), 0U);
}

TEST_F(ManagerCore, OfALostClientOnlyOneWayCallsAreExecuted) {
    auto const id = object();
    dispatcher.arrive(id, 1, call(2, 1));
    auto oneway = call(2, 2);
    oneway.oneway = true;
    dispatcher.arrive(id, 2, std::move(oneway));
    dispatcher.lost(2);
    auto const work = dispatcher.take();
    ASSERT_EQ(work->calls->size(), 1U);
    EXPECT_TRUE((*work->calls)[0].oneway);
}

TEST_F(ManagerCore, WhatAThreadHasTakenCanBeDroppedUntilItBegins) {
    auto const id = object();
    for (std::uint64_t i = 1; i < 4; ++i) dispatcher.arrive(id, i, call(1, i));
    dispatcher.arrive(id, 1, call(2, 1));
    auto const work = dispatcher.take();
    ASSERT_EQ(work->calls->size(), 4U);
    EXPECT_TRUE(work->calls->claim(0));
    EXPECT_FALSE(dispatcher.cancel(id, 1, 1)) << "it has begun";
    EXPECT_TRUE(dispatcher.cancel(id, 1, 2));
    EXPECT_FALSE(dispatcher.cancel(id, 1, 2)) << "it was cancelled";
    EXPECT_FALSE(work->calls->claim(1));
    EXPECT_TRUE(work->calls->claim(2));
    dispatcher.lost(2);
    EXPECT_FALSE(work->calls->claim(3));
}

TEST_F(ManagerCore, NamesAreTakenOnce) {
    auto const id = object();
    EXPECT_TRUE(dispatcher.publish(id, "name"));
    EXPECT_FALSE(dispatcher.publish(id, "name"));
    EXPECT_FALSE(dispatcher.publish(4711, "other"));
    dispatcher.lost(1);
    EXPECT_FALSE(dispatcher.take()) << "a published object stays";
    EXPECT_EQ(dispatcher.find("name")->object, id);
    EXPECT_FALSE(dispatcher.find("other"));
}

}  // namespace
}  // namespace sinew::manager
