// SPDX-License-Identifier: Apache-2.0
#include "src/comm/progress/engine.hpp"

#include <sinew/detail/deadline.hpp>
#include "tests/comm/ranks.hpp"

namespace sinew::tests {
namespace {

using detail::Engine;
using detail::Operation;

/// An engine with a separate thread, and one that is driven by the waiting thread.
class Engines : public testing::TestWithParam<Threading> {
protected:
    std::shared_ptr<Operation> submit(std::function<void(Operation&)> body,
                                      void const* chain = nullptr) {
        auto operation = std::make_shared<Operation>(engine_, std::move(body));
        engine_->submit(operation, chain);
        return operation;
    }
    void wait(std::shared_ptr<Operation> const& operation) {
        ASSERT_TRUE(engine_->wait(*operation, detail::deadline_after(long_time)));
        operation->take_result();
    }

    std::shared_ptr<Engine> engine_ = Engine::make(GetParam());
};

INSTANTIATE_TEST_SUITE_P(Driven, Engines, testing::Values(Threading::any, Threading::caller));

/// Suspends until `go`.
void pause(Operation& self, std::atomic<bool> const& go) {
    while (!go) self.suspend();
}

TEST_P(Engines, RunAnOperationToItsEnd) {
    auto operation = submit([](Operation& self) {
        for (int i = 0; i < 100; ++i) self.suspend();
        self.received.count = 5;
    });
    EXPECT_TRUE(engine_->wait(*operation, std::nullopt));
    EXPECT_EQ(operation->take_result().count, 5U);
}

TEST_P(Engines, KeepWhatWasThrown) {
    auto operation = submit([](Operation& self) {
        self.suspend();
        throw std::runtime_error("inside");
    });
    engine_->wait(*operation, std::nullopt);
    EXPECT_EQ(thrown_by<std::runtime_error>([&] { operation->take_result(); }), "inside");
    operation->take_result();  // once
}

TEST_P(Engines, WaitNoLongerThanAsked) {
    std::atomic<bool> go{false};
    auto operation = submit([&](Operation& self) { pause(self, go); });
    EXPECT_FALSE(engine_->wait(*operation, Operation::Clock::now()));
    EXPECT_FALSE(engine_->wait(*operation, detail::deadline_after(2ms)));
    go = true;
    wait(operation);
}

TEST_P(Engines, RunManyOperationsAtATime) {
    std::atomic<int> inside{0};
    constexpr int many = 300;
    std::vector<std::shared_ptr<Operation>> operations;
    for (int i = 0; i < many; ++i)
        operations.push_back(submit([&](Operation& self) {
            ++inside;
            while (inside < many) self.suspend();  // ends only when all have begun
        }));
    for (auto const& operation : operations) wait(operation);
}

TEST_P(Engines, RunAChainInOrder) {
    int const chain = 0, other = 0;
    std::vector<int> order;
    std::atomic<bool> go{false};
    std::vector<std::shared_ptr<Operation>> operations;
    auto first = submit([&](Operation& self) { pause(self, go); }, &chain);
    for (int i = 0; i < 100; ++i)
        operations.push_back(submit(
            [&, i](Operation& self) {
                self.suspend();
                order.push_back(i);
            },
            &chain));
    wait(submit([](Operation& self) { self.suspend(); }, &other));
    wait(submit([](Operation& self) { self.suspend(); }));
    EXPECT_TRUE(order.empty());  // the first has not ended
    go = true;
    wait(operations.back());
    EXPECT_EQ(order.size(), 100U);
    EXPECT_TRUE(std::is_sorted(order.begin(), order.end()));
    for (auto const& operation : operations) EXPECT_TRUE(operation->done());
    wait(first);
}

TEST_P(Engines, LetGoOfABodyBeforeItsEndIsKnown) {
    auto const held = std::make_shared<int>(1);
    auto operation = submit([held](Operation& self) { self.suspend(); });
    wait(operation);
    EXPECT_EQ(held.use_count(), 1);
}

TEST_P(Engines, RefuseMoreThanTheyCanHold) {
#ifdef SINEW_TEST_TSAN
    GTEST_SKIP() << "takes a minute to make that many fibers";
#endif
    int const chain = 0;
    std::atomic<bool> go{false};
    std::shared_ptr<Operation> last;
    for (std::size_t i = 0; i < Engine::most_operations; ++i)
        last = submit([&](Operation& self) { pause(self, go); }, &chain);
    EXPECT_THAT(thrown_by<UsageError>([&] { engine_->check_room(); }), testing::HasSubstr("16384"));
    go = true;
    wait(last);
    engine_->check_room();
}

TEST_P(Engines, MayGoWithTheLastOperation) {
    for (int i = 0; i < 50; ++i) {
        auto engine = Engine::make(GetParam());
        auto operation =
            std::make_shared<Operation>(engine, [](Operation& self) { self.suspend(); });
        engine->submit(operation, nullptr);
        engine.reset();
        operation->engine().wait(*operation, std::nullopt);
    }
}

TEST(Engine, IsSharedByTheProcessWhileSomebodyHoldsIt) {
    for (Threading const threading : {Threading::any, Threading::caller}) {
        auto const first = Engine::of_process(threading);
        EXPECT_EQ(Engine::of_process(threading), first);
        EXPECT_EQ(first->threaded(), threading == Threading::any);
    }
    EXPECT_NE(Engine::of_process(Threading::any), nullptr);  // a new one
}

}  // namespace
}  // namespace sinew::tests
