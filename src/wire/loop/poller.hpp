// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/epoll.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <unordered_map>
#include <vector>

#include "src/base/system/unique_fd.hpp"
#include "src/wire/loop/loop_access.hpp"

namespace sinew::wire {

/// The descriptors that a loop watches: an epoll set, level-triggered. A descriptor may be added
/// several times, and is not changed (a terminal is shared with the user's shell).
class Poller {
public:
    enum class Direction : std::uint8_t { read, write };
    class Watch;

    Poller();
    Poller(Poller const&) = delete;
    Poller& operator=(Poller const&) = delete;

    /// Throws SystemError if it is not an open descriptor.
    std::shared_ptr<Watch> add(int fd, Direction direction, std::function<void()> work);
    /// Finds out what is ready; false: nothing. Without the guard: entries may change meanwhile.
    bool poll() { return ask(0); }
    /// The same, but waits until something is ready, at most until `until`, and perhaps less: until
    /// `interrupt`, or until the deadline of an earlier wait.
    bool wait(Clock::time_point until);
    /// From any thread: ends the present wait, or else the next one.
    void interrupt();
    /// Calls the callbacks of what `poll` or `wait` has found.
    void dispatch();
    /// Some entries are not supported by epoll (a file, /dev/null).
    bool always_ready() const { return unpolled_.load() != 0; }

private:
    struct Entry {
        std::vector<Watch*> watches;
        std::uint32_t events = 0;
        std::uint32_t round = 0;  ///< which of the entries that this descriptor has had
        bool polled = true;
    };
    bool ask(int patience);
    void update(int fd, Entry& entry);
    void remove(Watch& watch) noexcept;
    void collect(Entry const& entry, std::uint32_t events);

    UniqueFd const set_, alarm_, interrupter_;
    Clock::time_point alarm_at_ = Clock::time_point::max();
    std::unordered_map<int, Entry> entries_;
    std::uint32_t rounds_ = 0;
    std::array<epoll_event, 128> ready_;
    std::size_t found_ = 0;  ///< in `ready_`
    std::vector<std::shared_ptr<Watch>> batch_;
    std::atomic<std::size_t> unpolled_{0};  ///< entries that are always ready
};

/// One callback for one direction of one descriptor.
class Poller::Watch : public Loop::Handle::Body, public std::enable_shared_from_this<Watch> {
public:
    Watch(Poller& poller, int fd, Direction direction, std::function<void()> work)
        : work_(std::move(work)), poller_(&poller), fd_(fd), direction_(direction) {}
    ~Watch() override { cancel(); }
    void cancel() noexcept override {
        if (poller_ != nullptr) std::exchange(poller_, nullptr)->remove(*this);
    }

private:
    friend class Poller;
    std::function<void()> work_;
    Poller* poller_;  ///< null: cancelled
    int fd_;
    Direction direction_;
};

}  // namespace sinew::wire
