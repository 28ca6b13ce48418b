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
    /// An object of client 1, made.
    ObjectId object(unsigned parallel = 1) {
        auto making = call(1, 0);
        making.makes = true;
        auto const id = core.add(parallel, "type", std::move(making));
        auto const work = core.take();
        EXPECT_EQ(work->calls->size(), 1U);
        core.finished(*work, std::make_shared<int>(0));
        return id;
    }
    Core core;
};

TEST_F(ManagerCore, HeldBackUntilThoseBeforeHaveCome) {
    auto const id = object();
    core.arrive(id, 2, call(1, 13));
    core.arrive(id, 3, call(1, 14));
    EXPECT_FALSE(core.has_work());
    core.skip(id, 1, 1);
    auto const work = core.take();
    ASSERT_EQ(work->calls->size(), 2U);
    EXPECT_EQ((*work->calls)[0].number, 13U);
    EXPECT_EQ((*work->calls)[1].number, 14U);
}

TEST_F(ManagerCore, ASequenceNumberCountsOnce) {
    auto const id = object();
    EXPECT_TRUE(core.arrive(id, 1, call(1, 11)));
    EXPECT_FALSE(core.arrive(id, 1, call(1, 99)));
    EXPECT_TRUE(core.arrive(id, 3, call(1, 13)));
    EXPECT_FALSE(core.arrive(id, 3, call(1, 98)));
    EXPECT_TRUE(core.arrive(id, 2, call(1, 12)));
    EXPECT_EQ(core.take()->calls->size(), 3U);
}

TEST_F(ManagerCore, RunsNoMoreAtATimeThanAllowed) {
    auto const id = object(2);
    for (std::uint64_t i = 1; i < 5; ++i) core.arrive(id, i, call(1, i));
    auto const work = core.take();
    EXPECT_EQ(work->calls->size(), 1U);
    EXPECT_EQ(core.take()->calls->size(), 1U);
    EXPECT_FALSE(core.take());
    core.finished(*work, nullptr);
    EXPECT_TRUE(core.take());
    EXPECT_FALSE(core.take());
}

TEST_F(ManagerCore, ObjectsTakeTurns) {
    auto const one = object(), two = object();
    for (std::uint64_t i = 1; i < 999; ++i) core.arrive(one, i, call(1, i));
    core.arrive(two, 1, call(1, 2));
    auto const first = core.take();
    EXPECT_EQ(first->object, one);
    EXPECT_LT(first->calls->size(), 998U) << "not all in a row";
    core.finished(*first, nullptr);
    EXPECT_EQ(core.take()->object, two);
}

TEST_F(ManagerCore, WhatCouldNotBeMadeIsGone) {
    auto const id = core.add(1, "type", call(1, 1));
    auto const work = core.take();
    core.arrive(id, 1, call(1, 2));
    auto const unmade = core.finished(*work, nullptr);
    ASSERT_EQ(unmade.size(), 1U);
    EXPECT_EQ(unmade.front().number, 2U);
    EXPECT_FALSE(core.arrive(id, 2, call(1, 3)));
    EXPECT_EQ(core.objects(), 0U);
    EXPECT_FALSE(core.take());
}

TEST_F(ManagerCore, DestroysWhatNobodyHoldsAfterItsCalls) {
    auto const id = object();
    core.hold(id, 2);
    core.arrive(id, 1, call(1, 2));
    core.release(id, 1);
    core.lost(2);
    auto work = core.take();
    EXPECT_EQ(work->calls->size(), 1U);
    EXPECT_FALSE(core.take());
    core.finished(*work, nullptr);
    work = core.take();
    ASSERT_TRUE(work);
    EXPECT_TRUE(work->calls == nullptr);
    EXPECT_TRUE(work->instance);
    EXPECT_EQ(core.objects(), 0U);
}

TEST_F(ManagerCore, OfALostClientOnlyOneWayCallsAreExecuted) {
    auto const id = object();
    core.arrive(id, 1, call(2, 1));
    auto oneway = call(2, 2);
    oneway.oneway = true;
    core.arrive(id, 2, std::move(oneway));
    core.lost(2);
    auto const work = core.take();
    ASSERT_EQ(work->calls->size(), 1U);
    EXPECT_TRUE((*work->calls)[0].oneway);
}

TEST_F(ManagerCore, WhatAThreadHasTakenCanBeDroppedUntilItBegins) {
    auto const id = object();
    for (std::uint64_t i = 1; i < 4; ++i) core.arrive(id, i, call(1, i));
    core.arrive(id, 1, call(2, 1));
    auto const work = core.take();
    ASSERT_EQ(work->calls->size(), 4U);
    EXPECT_TRUE(work->calls->claim(0));
    EXPECT_FALSE(core.cancel(id, 1, 1)) << "it has begun";
    EXPECT_TRUE(core.cancel(id, 1, 2));
    EXPECT_FALSE(core.cancel(id, 1, 2)) << "it was cancelled";
    EXPECT_FALSE(work->calls->claim(1));
    EXPECT_TRUE(work->calls->claim(2));
    core.lost(2);
    EXPECT_FALSE(work->calls->claim(3));
}

TEST_F(ManagerCore, NamesAreTakenOnce) {
    auto const id = object();
    EXPECT_TRUE(core.publish(id, "name"));
    EXPECT_FALSE(core.publish(id, "name"));
    EXPECT_FALSE(core.publish(4711, "other"));
    core.lost(1);
    EXPECT_FALSE(core.take()) << "a published object stays";
    EXPECT_EQ(core.find("name")->object, id);
    EXPECT_FALSE(core.find("other"));
}

}  // namespace
}  // namespace sinew::manager
