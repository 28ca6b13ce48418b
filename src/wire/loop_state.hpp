// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "src/wire/loop_access.hpp"

#include <asio/executor_work_guard.hpp>
#include <asio/io_context.hpp>
#include <asio/posix/stream_descriptor.hpp>
#include <asio/post.hpp>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "src/base/spin_policy.hpp"
#include "src/wire/linger.hpp"
#include "src/wire/poller.hpp"
#include "src/wire/surroundings.hpp"

namespace sinew::wire {

// For so long, or so many turns, what is ready goes on without asio's timers and posted work; longer
// where it has nothing to do.
inline constexpr auto longest_run_of_turns = std::chrono::microseconds(200);
inline constexpr int most_turns_in_a_row = 16;

struct Loop::State {
    explicit State(std::mutex* guard)
        : here{guard, {}, {}}, work(io.get_executor()), ready(io, poller.fd()) {
        wait_for_ready();
    }
    ~State() { ready.release(); }  // the set is the poller's to close

    void wait_for_ready();
    template <class Work>
    void post(Work item);
    bool asio_is_idle() const;
    bool may_linger() const { return asio_is_idle() && deadline > Clock::now() + Linger::longest; }
    void turns();
    void turn();
    struct Driving;
    bool begin_drive(std::function<bool()> const& wanted, Clock::time_point until);
    bool look(Clock::time_point until);
    bool await_next();
    void note_slept();
    bool asio_is_due(Clock::time_point now) const;
    bool serve_timers();
    void sleep();
    bool is_done() const { return done != nullptr && (*done)(); }
    bool ask() const {
        auto const held = here.enter();
        return is_done();
    }
    void turn_again_if_always_ready();
    void at_turn_end(std::shared_ptr<TurnEnd> item);
    void end_turn();

    // In this order: handlers that die with `io` may hold watches of the poller.
    Surroundings here;
    Poller poller;
    Linger linger{poller};
    /// Work for asio, and how much of that has begun.
    std::atomic<std::uint64_t> posted{0};
    std::uint64_t begun = 0;
    std::vector<std::shared_ptr<TurnEnd>> deferred, ending;
    bool in_turn = false, end_posted = false, again_posted = false;
    // Of who runs or drives.
    std::optional<SpinPolicy> own_policy;  ///< of `run`
    SpinPolicy* policy = nullptr;          ///< null: nobody yet
    Clock::time_point nothing_since = {};  ///< nothing was ready; zero: something is
    std::function<bool()> const* done = nullptr;
    Clock::time_point deadline = Clock::time_point::max();
    Clock::time_point served{};  ///< when timers and posted work have last had their turn
    asio::io_context io{1};      // one thread runs it, which saves waking others; any may post
    asio::executor_work_guard<asio::io_context::executor_type> work;
    asio::posix::stream_descriptor ready;
};

template <class Work>
void Loop::State::post(Work item) {
    posted.fetch_add(1);
    asio::post(io, [this, item = std::move(item)]() mutable {
        ++begun;
        item();
    });
    linger.news();
}

}  // namespace sinew::wire
