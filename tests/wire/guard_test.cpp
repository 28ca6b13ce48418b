// SPDX-License-Identifier: Apache-2.0
// Several threads on one loop, under its guard. Most effective with the tsan preset.
#include <gmock/gmock.h>
#include <sys/socket.h>

#include <array>
#include <atomic>
#include <condition_variable>
#include <csignal>
#include <cstring>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "src/wire/adopt.hpp"
#include "tests/wire/support.hpp"

namespace sinew::wire {
namespace {

using namespace std::chrono_literals;
using test::bytes;

constexpr auto bound = 60s;

/// A loop in a separate thread.
struct Running {
    Running() : thread([this] { loop.run(); }) {}
    ~Running() {
        loop.stop();
        thread.join();
    }
    std::mutex guard;
    std::condition_variable changed;
    Loop loop{guard};
    std::thread thread;

    /// Whether the condition becomes true within the limit; evaluated with the guard held.
    template <typename Condition>
    bool wait_for(Condition condition) {
        std::unique_lock lock(guard);
        return changed.wait_for(lock, bound, condition);
    }
};

/// Two ends of a link on the same loop; everything but the loop's destruction with the guard held.
struct Ends {
    explicit Ends(Running& in_, LinkOptions const& options = {}) : in(in_) {
        std::array<int, 2> fds{};
        EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, fds.data()), 0);
        std::lock_guard const lock(in.guard);
        near = adopt(in.loop, UniqueFd(fds[0]), {0, 0, 0, "far"}, options);
        far = adopt(in.loop, UniqueFd(fds[1]), {0, 1, 0, "near"}, options);
    }
    ~Ends() {
        std::lock_guard const lock(in.guard);
        near = nullptr;
        far = nullptr;
    }
    Running& in;
    std::unique_ptr<Link> near, far;
};

struct Numbered {
    std::uint32_t thread = 0, number = 0;
};

void send_many(Ends& ends, std::uint32_t thread, std::uint32_t count, int how) {
    for (std::uint32_t number = 0; number < count; ++number) {
        Numbered const item{thread, number};
        auto const payload = std::as_bytes(std::span(&item, 1));
        std::lock_guard const lock(ends.in.guard);
        if (how == 0) {
            ends.near->send_now(1, 0, {payload});
            continue;
        }
        ends.near->send(1, 0, {payload});
        if (how == 1) ends.near->flush();
    }
}

TEST(Guard, LetsThreadsSendOverOneLinkEachInItsOrder) {
    Running running;
    Ends ends(running);
    constexpr std::uint32_t threads = 3, count = 2000;
    std::array<std::uint32_t, threads> next{};
    std::uint32_t got = 0, wrong = 0;
    {
        std::lock_guard const lock(running.guard);
        ends.near->on({[](Message const&) {}, [](LinkEnd const&) {}});
        ends.far->on({[&](Message const& message) {
                          Numbered item;
                          std::memcpy(&item, message.payload.data(), sizeof item);
                          wrong += item.thread >= threads || item.number != next[item.thread]++;
                          if (++got == threads * count) running.changed.notify_all();
                      },
                      [](LinkEnd const& end) { ADD_FAILURE() << end.text; }});
    }
    std::vector<std::thread> senders;
    for (std::uint32_t i = 0; i < threads; ++i)
        senders.emplace_back([&, i] { send_many(ends, i, count, static_cast<int>(i)); });
    for (auto& each : senders) each.join();
    EXPECT_TRUE(running.wait_for([&] { return got == threads * count; }));
    EXPECT_EQ(wrong, 0u);
}

TEST(Guard, SendsWithoutTheLoopsThread) {
    std::mutex guard;
    Loop loop(guard);  // not running
    std::array<int, 2> fds{};
    ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, fds.data()), 0);
    UniqueFd const far(fds[1]);
    std::lock_guard const lock(guard);
    auto const near = adopt(loop, UniqueFd(fds[0]), {0, 0, 0, "far"}, {});
    std::array<char, 64> buffer;
    near->send_now(1, 0, {bytes("one")});
    EXPECT_EQ(::recv(far.get(), buffer.data(), buffer.size(), MSG_DONTWAIT), 11);
    near->send(1, 0, {bytes("two")});
    EXPECT_EQ(::recv(far.get(), buffer.data(), buffer.size(), MSG_DONTWAIT), -1);
    near->flush();
    EXPECT_EQ(::recv(far.get(), buffer.data(), buffer.size(), MSG_DONTWAIT), 11);
    EXPECT_EQ(near->queued(), 0u);
}

TEST(Guard, TellsDrainedFromTheLoopNotFromFlush) {
    LinkOptions options;
    options.high_water = 1;
    options.low_water = 1;
    Running running;
    Ends ends(running, options);
    int drained = 0;
    bool within = false;
    {
        std::lock_guard const lock(running.guard);
        ends.far->on({[](Message const&) {}, [](LinkEnd const&) {}});
        ends.near->on({[](Message const&) {}, [](LinkEnd const&) {}, [](Liveness) {},
                       [&] { ++drained, running.changed.notify_all(); }});
        EXPECT_EQ(ends.near->send(1, 0, {bytes("more than one byte")}), Flow::full);
        ends.near->flush();
        EXPECT_EQ(ends.near->queued(), 0u);
        within = drained != 0;
    }
    EXPECT_FALSE(within);
    EXPECT_TRUE(running.wait_for([&] { return drained == 1; }));
}

TEST(Guard, IsHeldDuringEveryKindOfCallback) {
    Running running;
    int ran = 0, without = 0;
    std::array<int, 2> fds{};
    ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, fds.data()), 0);
    UniqueFd const one(fds[0]), other(fds[1]);
    ASSERT_EQ(::write(other.get(), "x", 1), 1);
    auto const note = [&](int which) {
        std::thread([&] { without += running.guard.try_lock(); }).join();
        ran |= which;
        running.changed.notify_all();
    };
    std::vector<Loop::Handle> handles;
    running.loop.post([&] { note(1); });
    {
        std::lock_guard const lock(running.guard);
        handles.push_back(running.loop.after(0ms, [&] { note(2); }));
        handles.push_back(running.loop.every(1ms, [&] { note(4); }));
        handles.push_back(running.loop.readable(one.get(), [&] { note(8); }));
        handles.push_back(running.loop.signals({SIGUSR1}, [&](int) { note(16); }));
    }
    ASSERT_EQ(::raise(SIGUSR1), 0);
    EXPECT_TRUE(running.wait_for([&] { return ran == 31; }));
    std::lock_guard const lock(running.guard);
    EXPECT_EQ(without, 0);
    handles.clear();
}

TEST(Guard, LetsThreadsMakeAndEndTimersAndWatches) {
    Running running;
    std::atomic<int> calls{0};
    auto const busy = [&] {
        std::array<int, 2> fds{};
        EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, fds.data()), 0);
        UniqueFd const one(fds[0]), other(fds[1]);
        EXPECT_EQ(::write(other.get(), "x", 1), 1);
        for (int i = 0; i < 300; ++i) {
            std::vector<Loop::Handle> handles;
            auto state = std::make_unique<int>(0);
            auto const call = [&calls, it = state.get()] { calls += ++*it > 0; };
            {
                std::lock_guard const lock(running.guard);
                handles.push_back(running.loop.after(0ms, call));
                handles.push_back(running.loop.every(1ms, call));
                handles.push_back(running.loop.readable(one.get(), call));
            }
            if (i % 8 == 0) std::this_thread::sleep_for(1ms);
            std::lock_guard const lock(running.guard);
            handles.clear();
            state = nullptr;  // a later callback would use freed memory
        }
    };
    std::array<std::thread, 3> threads{std::thread(busy), std::thread(busy), std::thread(busy)};
    for (auto& each : threads) each.join();
    EXPECT_GT(calls, 0);
}

}  // namespace
}  // namespace sinew::wire
