// SPDX-License-Identifier: Apache-2.0
#include "src/process/background_work.hpp"

#include <gmock/gmock.h>

#include <future>
#include <memory>
#include <mutex>
#include <optional>
#include <sinew/error.hpp>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace sinew::process {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;

class BackgroundWorks : public testing::Test {
protected:
    template <class Done>
    bool drive_until(Done const& done) {
        SpinPolicy never;
        loop_.drive(done, wire::Clock::now() + 30s, never);
        std::lock_guard const lock(guard_);
        return done();
    }
    std::mutex guard_;
    wire::Loop loop_{guard_};
    std::optional<BackgroundWork> work_{std::in_place, loop_};
};

TEST_F(BackgroundWorks, AreCarriedOutInOrderAndTold) {
    std::vector<std::string> told;
    std::thread::id worker;
    {
        std::lock_guard const lock(guard_);
        for (int i = 0; i < 3; ++i)
            work_->add([&worker] { worker = std::this_thread::get_id(); },
                       [&told, i](std::exception_ptr const& error) {
                           told.push_back(std::to_string(i) + (error ? " failed" : ""));
                       },
                       30s);
        work_->add([] { throw std::runtime_error("full"); },
                   [&told](std::exception_ptr const& error) {
                       try {
                           std::rethrow_exception(error);
                       } catch (std::runtime_error const& what) {
                           told.emplace_back(what.what());
                       }
                   },
                   30s);
    }
    EXPECT_TRUE(drive_until([&] { return told.size() == 4; }));
    EXPECT_THAT(told, ElementsAre("0", "1", "2", "full"));
    EXPECT_NE(worker, std::this_thread::get_id());
}

// Simulates a disk that does not respond.
TEST_F(BackgroundWorks, ThatBlockDoNotHoldTheEnd) {
    auto const answer = std::make_shared<std::promise<void>>();
    auto const begun = std::make_shared<std::promise<void>>();
    auto const ended = std::make_shared<std::promise<void>>();
    bool told = false, second = false;
    {
        std::lock_guard const lock(guard_);
        work_->add(
            [answer, begun, ended] {
                begun->set_value();
                answer->get_future().wait();
                ended->set_value();
            },
            [&told](std::exception_ptr const&) { told = true; }, 30s);
        work_->add([&second] { second = true; }, [](std::exception_ptr const&) {}, 30s);
    }
    begun->get_future().wait();
    {
        std::lock_guard const lock(guard_);
        work_.reset();
    }
    answer->set_value();
    ended->get_future().wait();  // the first work continued by itself
    EXPECT_FALSE(told);
    EXPECT_FALSE(second);
}

// Work queued behind such a disk does not wait forever either; each is reported once.
TEST_F(BackgroundWorks, ThatTakeTooLongAreToldByALimit) {
    auto const answer = std::make_shared<std::promise<void>>();
    std::vector<std::string> told;
    auto const tell_as = [&](std::string name) {
        return [&told, name = std::move(name)](std::exception_ptr const& error) {
            try {
                if (error) std::rethrow_exception(error);
                told.push_back(name);
            } catch (Timeout const& late) {
                told.push_back(name + ": " + late.what());
            }
        };
    };
    {
        std::lock_guard const lock(guard_);
        work_->add([answer] { answer->get_future().wait(); }, tell_as("first"), 20ms);
        work_->add([] {}, tell_as("second"), 30ms);
        work_->add([] {}, tell_as("third"), 30s);
    }
    EXPECT_TRUE(drive_until([&] { return told.size() == 2; }));
    EXPECT_THAT(told, ElementsAre("first: it has not ended within 0.02 s",
                                  "second: it has not ended within 0.03 s"));
    answer->set_value();
    EXPECT_TRUE(drive_until([&] { return told.size() == 3; }));
    EXPECT_EQ(told.back(), "third");
}

TEST_F(BackgroundWorks, MayBeEndedByWhoIsTold) {
    bool told = false;
    {
        std::lock_guard const lock(guard_);
        for (int i = 0; i < 2; ++i)
            work_->add([] {},
                       [&](std::exception_ptr const&) {
                           EXPECT_FALSE(told);
                           told = true;
                           work_.reset();
                       },
                       30s);
    }
    EXPECT_TRUE(drive_until([&] { return told; }));
}

}  // namespace
}  // namespace sinew::process
