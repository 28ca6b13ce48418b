// SPDX-License-Identifier: Apache-2.0
#include "src/process/loop_leader.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "src/base/system/unique_fd.hpp"

namespace sinew::process {
namespace {

using namespace std::chrono_literals;
using Clock = LoopLeader::Clock;
using Lock = LoopLeader::Lock;
constexpr auto no_deadline = Clock::time_point::max();

/// A mailbox fed by a pipe, as messages are, that threads wait for.
struct Mailbox {
    explicit Mailbox(wire::Loop& loop, LoopLeader& leader_) : loop_leader(leader_) {
        std::array<int, 2> ends{};
        if (::pipe(ends.data()) != 0) throw std::runtime_error("no pipe");
        from = UniqueFd(ends[0]);
        to = UniqueFd(ends[1]);
        readable = loop.readable(from.get(), [this] {
            char byte = 0;
            if (::read(from.get(), &byte, 1) != 1) return;
            if (byte == '!') throw std::runtime_error("a callback failed");
            ++arrived;
            received_by = std::this_thread::get_id();
            EXPECT_TRUE(LoopLeader::driving());
            loop_leader.notify_all(changed);
        });
    }
    void put(char byte = 'x') { ASSERT_EQ(::write(to.get(), &byte, 1), 1); }
    bool wait(Lock& lock, int count, Clock::time_point deadline = no_deadline,
              LoopLeader::Turn turn = LoopLeader::Turn::at_once) {
        return loop_leader.wait(
            lock, changed, deadline, [this, count] { return arrived >= count; }, turn);
    }

    LoopLeader& loop_leader;
    UniqueFd from, to;
    wire::Loop::Handle readable;
    std::condition_variable changed;
    int arrived = 0;
    std::thread::id received_by;
};

struct SeatTest : testing::Test {
    ~SeatTest() override {
        Lock lock(guard);
        loop_leader.close();
        lock.unlock();
        loop.stop();
        background.join();
    }
    /// Waits until the waiting thread itself receives messages.
    void wait_until_driving(Mailbox& box, Lock& lock) {
        for (int i = 0; i < 10'000; ++i) {
            box.put();
            int const next = box.arrived + 1;
            ASSERT_TRUE(box.wait(lock, next));
            if (box.received_by == std::this_thread::get_id()) return;
        }
        FAIL() << "the thread that waits without a deadline drove";
    }

    std::mutex guard;
    wire::Loop loop{guard};
    std::atomic<int> failures{0};
    LoopLeader loop_leader{loop, [this](std::exception const&) { ++failures; }};
    std::thread background{[this] {
        Lock lock(guard);
        loop_leader.attend(lock);
    }};
};

TEST_F(SeatTest, WhoWaitsReceivesWhatItWaitsFor) {
    Lock lock(guard);
    Mailbox box(loop, loop_leader);
    wait_until_driving(box, lock);
    EXPECT_FALSE(LoopLeader::driving());
}

TEST_F(SeatTest, TheAttendantReceivesWhenNobodyWaits) {
    Lock lock(guard);
    Mailbox box(loop, loop_leader);
    wait_until_driving(box, lock);
    int const before = box.arrived;
    lock.unlock();
    box.put();
    for (bool there = false; !there; lock.unlock()) {
        std::this_thread::sleep_for(1ms);
        lock.lock();
        there = box.arrived > before;
    }
    lock.lock();
    EXPECT_EQ(box.received_by, background.get_id());
}

/// Whether poll_once receives a message in this thread; another thread may be faster.
bool glance_takes(LoopLeader& loop_leader, Mailbox& box, Lock& lock) {
    int const next = box.arrived + 1;
    box.put();
    loop_leader.poll_once(lock);
    bool const taken = box.arrived >= next && box.received_by == std::this_thread::get_id();
    EXPECT_FALSE(LoopLeader::driving());
    EXPECT_TRUE(lock.owns_lock());
    EXPECT_TRUE(box.wait(lock, next, Clock::now() + 60s));
    return taken;
}

TEST_F(SeatTest, AGlanceTakesWhatHasArrivedAndDoesNotWait) {
    Lock lock(guard);
    Mailbox box(loop, loop_leader);
    wait_until_driving(box, lock);
    bool taken = false;
    for (int i = 0; i < 10'000 && !taken; ++i) taken = glance_takes(loop_leader, box, lock);
    EXPECT_TRUE(taken);
    // Without messages it returns at once, and later messages still arrive.
    for (int i = 0; i < 1'000; ++i) loop_leader.poll_once(lock);
    box.put();
    EXPECT_TRUE(box.wait(lock, box.arrived + 1, Clock::now() + 60s));
}

TEST_F(SeatTest, WhoGlancesAgainAndAgainGetsTheSeatOfTheAttendant) {
    Lock lock(guard);
    Mailbox box(loop, loop_leader);
    auto const by_attendant = [&] { return box.received_by == background.get_id(); };
    for (int round = 0; round < 20; ++round) {
        for (int i = 0; i < 10'000 && !by_attendant(); ++i) {  // it takes over the loop
            lock.unlock();
            std::this_thread::sleep_for(1ms);
            lock.lock();
            box.put();
            lock.unlock();
            std::this_thread::sleep_for(1ms);
            lock.lock();
        }
        ASSERT_TRUE(by_attendant());
        bool taken = false;
        for (int i = 0; i < 10'000 && !taken; ++i) {
            loop_leader.yield_soon();
            taken = glance_takes(loop_leader, box, lock);
        }
        EXPECT_TRUE(taken);
    }
}

TEST_F(SeatTest, TimersAndPostedWorkHaveTheirTurnInGlances) {
    Lock lock(guard);
    Mailbox box(loop, loop_leader);
    wait_until_driving(box, lock);
    std::thread::id posted_by, fired_by;
    auto const mine = std::this_thread::get_id();
    auto const end = Clock::now() + 60s;
    while ((posted_by != mine || fired_by != mine) && Clock::now() < end) {
        bool posted = false, fired = false;
        loop.post([&] { posted = true, posted_by = std::this_thread::get_id(); });
        auto const timer =
            loop.after(100us, [&] { fired = true, fired_by = std::this_thread::get_id(); });
        while ((!posted || !fired) && Clock::now() < end) loop_leader.poll_once(lock);
        EXPECT_TRUE(posted && fired);
    }
    EXPECT_EQ(posted_by, mine);
    EXPECT_EQ(fired_by, mine);
}

TEST_F(SeatTest, DeadlinesAreKeptWhileDriving) {
    Lock lock(guard);
    Mailbox box(loop, loop_leader);
    for (int round = 0; round < 20; ++round) {
        wait_until_driving(box, lock);
        auto const began = Clock::now();
        EXPECT_FALSE(box.wait(lock, box.arrived + 1, began + 20ms));
        EXPECT_GE(Clock::now() - began, 20ms);
        EXPECT_LT(Clock::now() - began, 10s);
    }
    // A message that is there counts, however late it is.
    wait_until_driving(box, lock);
    box.put();
    EXPECT_TRUE(box.wait(lock, box.arrived + 1, Clock::now() - 1s) ||
                box.wait(lock, box.arrived + 1, Clock::now() + 10s));
}

TEST_F(SeatTest, EachOfManyThatWaitGetsItsOwn) {
    constexpr int threads = 8, rounds = 500;
    std::vector<std::unique_ptr<Mailbox>> boxes;
    {
        Lock const lock(guard);
        for (int i = 0; i < threads; ++i)
            boxes.push_back(std::make_unique<Mailbox>(loop, loop_leader));
    }
    std::vector<std::thread> running;
    for (int i = 0; i < threads; ++i)
        running.emplace_back([this, i, &boxes] {
            auto& mine = *boxes[static_cast<std::size_t>(i)];
            for (int round = 1; round <= rounds; ++round) {
                if (round % 50 == i) std::this_thread::sleep_for(1ms);
                mine.put();
                Lock lock(guard);
                EXPECT_TRUE(mine.wait(lock, round, Clock::now() + 60s));
            }
        });
    for (auto& each : running) each.join();
    Lock const lock(guard);
    boxes.clear();
}

TEST_F(SeatTest, TheOthersAreServedWhenTheDriverGoes) {
    Lock lock(guard);
    Mailbox mine(loop, loop_leader), theirs(loop, loop_leader);
    wait_until_driving(mine, lock);
    lock.unlock();
    std::atomic<bool> waits{false};
    std::thread other([&] {
        Lock held(guard);
        waits = true;
        EXPECT_TRUE(theirs.wait(held, 1, Clock::now() + 60s));
    });
    while (!waits) std::this_thread::sleep_for(1ms);
    lock.lock();
    mine.put();
    EXPECT_TRUE(mine.wait(lock, mine.arrived + 1, Clock::now() + 60s));
    lock.unlock();
    theirs.put();
    other.join();
    lock.lock();
}

// A thread that gets from a queue where nothing arrives for long, next to one that makes calls.
TEST_F(SeatTest, WhoMayWaitForeverGivesWayToWhoWaitsForAnAnswer) {
    Lock lock(guard);
    Mailbox mine(loop, loop_leader), theirs(loop, loop_leader);
    wait_until_driving(mine, lock);
    std::thread::id patient_id;
    std::thread patient([&] {
        Lock held(guard);
        patient_id = std::this_thread::get_id();
        int received = 0;  // until it has driven the loop itself
        while (received < 10'000 && theirs.received_by != patient_id)
            EXPECT_TRUE(
                theirs.wait(held, ++received, Clock::now() + 60s, LoopLeader::Turn::some_time));
        EXPECT_EQ(theirs.received_by, patient_id);
        EXPECT_TRUE(
            theirs.wait(held, received + 1, Clock::now() + 60s, LoopLeader::Turn::some_time));
    });
    for (int i = 0;
         i < 10'000 && (patient_id == std::thread::id() || theirs.received_by != patient_id); ++i) {
        lock.unlock();
        theirs.put();
        std::this_thread::sleep_for(1ms);
        lock.lock();
    }
    int const before = theirs.arrived;
    wait_until_driving(mine, lock);
    // Messages for the other thread reach it nevertheless.
    theirs.put();
    EXPECT_TRUE(theirs.wait(lock, before + 1, Clock::now() + 60s));
    lock.unlock();
    patient.join();
    lock.lock();
}

TEST_F(SeatTest, AnotherThreadMayEndTheWait) {
    Lock lock(guard);
    Mailbox box(loop, loop_leader);
    for (int round = 0; round < 50; ++round) {
        wait_until_driving(box, lock);
        bool over = false;
        std::condition_variable changed;
        std::thread other([&] {
            Lock const held(guard);
            over = true;
            loop_leader.notify_one(changed);
        });
        EXPECT_TRUE(loop_leader.wait(
            lock, changed, Clock::now() + 60s, [&] { return over; }, LoopLeader::Turn::at_once));
        lock.unlock();
        other.join();
        lock.lock();
    }
}

TEST_F(SeatTest, TheAttendantDrivesForBystanders) {
    Lock lock(guard);
    Mailbox box(loop, loop_leader);
    wait_until_driving(box, lock);
    LoopLeader::Follower const stands_by(loop_leader);
    int const before = box.arrived;
    for (int i = 1; i <= 20; ++i) {
        box.put();
        EXPECT_TRUE(box.wait(lock, before + i, Clock::now() + 60s));
        EXPECT_EQ(box.received_by, background.get_id());
    }
}

TEST_F(SeatTest, PostedWorkAndTimersHaveTheirTurnBesideBusyWaits) {
    Lock lock(guard);
    Mailbox box(loop, loop_leader);
    wait_until_driving(box, lock);
    int posted = 0;
    bool fired = false;
    auto const timer = loop.after(1ms, [&] { fired = true; });
    loop.post([&] { ++posted; });
    for (auto const end = Clock::now() + 60s; (posted == 0 || !fired) && Clock::now() < end;) {
        box.put();
        ASSERT_TRUE(box.wait(lock, box.arrived + 1));
    }
    EXPECT_EQ(posted, 1);
    EXPECT_TRUE(fired);
}

TEST_F(SeatTest, ACallbackThatFailsEndsNoWait) {
    Lock lock(guard);
    Mailbox box(loop, loop_leader);
    wait_until_driving(box, lock);
    box.put('!');
    box.put();
    EXPECT_TRUE(box.wait(lock, box.arrived + 1, Clock::now() + 60s));
    EXPECT_EQ(failures, 1);
}

// Voluntary context switches of this process so far.
long sleeps() {
    rusage usage{};
    ::getrusage(RUSAGE_SELF, &usage);
    return usage.ru_nvcsw;
}

TEST_F(SeatTest, NobodyWakesUpAtRest) {
    Lock lock(guard);
    Mailbox box(loop, loop_leader);
    wait_until_driving(box, lock);
    lock.unlock();
    std::this_thread::sleep_for(100ms);
    auto const before = sleeps();
    std::this_thread::sleep_for(500ms);
    EXPECT_LT(sleeps() - before, 20);
    // The same while a thread waits for long.
    std::thread patient([&] {
        Lock held(guard);
        EXPECT_TRUE(box.wait(held, box.arrived + 1, no_deadline, LoopLeader::Turn::some_time));
    });
    std::this_thread::sleep_for(100ms);
    auto const waiting = sleeps();
    std::this_thread::sleep_for(500ms);
    EXPECT_LT(sleeps() - waiting, 20);
    box.put();
    patient.join();
    lock.lock();
}

TEST_F(SeatTest, AtTheEndTheAttendantDrives) {
    Lock lock(guard);
    Mailbox box(loop, loop_leader);
    wait_until_driving(box, lock);
    loop_leader.close();
    for (int i = 0; i < 20; ++i) {
        box.put();
        EXPECT_TRUE(box.wait(lock, box.arrived + 1, Clock::now() + 60s));
        EXPECT_EQ(box.received_by, background.get_id());
    }
}

}  // namespace
}  // namespace sinew::process
