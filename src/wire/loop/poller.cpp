// SPDX-License-Identifier: Apache-2.0
#include "src/wire/loop/poller.hpp"

#include <sys/eventfd.h>
#include <sys/timerfd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <sinew/error.hpp>
#include <span>
#include <utility>

#include "src/base/system/io.hpp"
#include "src/base/text.hpp"

namespace sinew::wire {
namespace {

std::uint32_t mask(Poller::Direction direction) {
    return direction == Poller::Direction::read ? EPOLLIN : EPOLLOUT;
}

// Marks of descriptors without a callback; no descriptor number is so large.
constexpr std::uint64_t alarm_mark = UINT64_MAX, interrupter_mark = UINT64_MAX - 1;

UniqueFd opened(int fd, char const* what) {
    if (fd < 0)
        throw SystemError(
            text("an event loop cannot be created (", what, ": ", std::strerror(errno),
                 "). Is the limit of open files (ulimit -n) reached?"),
            errno);
    return UniqueFd(fd);
}

// Adds a descriptor edge-triggered: it is reported once per event, and never read.
void add_internal(int set, int fd, std::uint64_t mark) {
    epoll_event event{};
    event.events = EPOLLIN | EPOLLET;
    event.data.u64 = mark;
    if (::epoll_ctl(set, EPOLL_CTL_ADD, fd, &event) != 0)
        throw SystemError(
            text("an event loop cannot be created (epoll_ctl: ", std::strerror(errno), ")"), errno);
}

// The round detects events of an earlier file that had the same descriptor number.
std::uint64_t mark(int fd, std::uint32_t round) {
    return std::uint64_t{round} << 32 | static_cast<std::uint32_t>(fd);
}

}  // namespace

Poller::Poller()
    : set_(opened(::epoll_create1(EPOLL_CLOEXEC), "epoll_create1")),
      alarm_(
          opened(::timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK), "timerfd_create")),
      interrupter_(opened(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK), "eventfd")) {
    add_internal(set_.get(), alarm_.get(), alarm_mark);
    add_internal(set_.get(), interrupter_.get(), interrupter_mark);
}

std::shared_ptr<Poller::Watch> Poller::add(int fd, Direction direction,
                                           std::function<void()> work) {
    auto watch = std::make_shared<Watch>(*this, fd, direction, std::move(work));
    Entry& entry = entries_[fd];
    if (entry.watches.empty()) entry.round = ++rounds_;
    entry.watches.push_back(watch.get());
    update(fd, entry);
    return watch;
}

// Updates the kernel's event mask of an entry.
void Poller::update(int fd, Entry& entry) {
    std::uint32_t wanted = 0;
    for (Watch const* watch : entry.watches) wanted |= mask(watch->direction_);
    if (wanted == entry.events) return;
    int const operation = entry.events == 0 ? EPOLL_CTL_ADD : EPOLL_CTL_MOD;
    entry.events = wanted;
    if (!entry.polled) return;
    epoll_event event{};
    event.events = wanted;
    event.data.u64 = mark(fd, entry.round);
    if (::epoll_ctl(set_.get(), operation, fd, &event) == 0) return;
    if (errno == EPERM) {
        entry.polled = false;
        ++unpolled_;
        return;
    }
    int const error = errno;
    throw_errno(text("descriptor ", fd, " cannot be watched"), "Is it open?", error);
}

void Poller::remove(Watch& watch) noexcept {
    auto const found = entries_.find(watch.fd_);
    if (found == entries_.end()) return;
    Entry& entry = found->second;
    std::erase(entry.watches, &watch);
    if (entry.watches.empty()) {
        if (entry.polled) {
            epoll_event unused{};  // may fail: already closed
            ::epoll_ctl(set_.get(), EPOLL_CTL_DEL, watch.fd_, &unused);
        } else {
            --unpolled_;
        }
        entries_.erase(found);
        return;
    }
    try {
        update(watch.fd_, entry);
    } catch (Error const&) {}  // there is no caller to report it to
}

void Poller::collect(Entry const& entry, std::uint32_t events) {
    // Ends and errors concern both directions: the next read or write returns the cause.
    bool const ended = (events & (EPOLLHUP | EPOLLERR)) != 0;
    for (Watch* const watch : entry.watches) {
        if (ended || (events & mask(watch->direction_)) != 0)
            batch_.push_back(watch->shared_from_this());
    }
}

// An alarm that fires too early costs less than setting it for each wait.
bool Poller::wait(Clock::time_point until) {
    if (until < alarm_at_) {
        auto const ns = std::max<std::int64_t>(until.time_since_epoch().count(), 1);  // 0: never
        itimerspec when{};
        when.it_value.tv_sec = static_cast<time_t>(ns / 1'000'000'000);
        when.it_value.tv_nsec = static_cast<long>(ns % 1'000'000'000);
        ::timerfd_settime(alarm_.get(), TFD_TIMER_ABSTIME, &when, nullptr);
        alarm_at_ = until;
    }
    return ask(-1);
}

void Poller::interrupt() { ::eventfd_write(interrupter_.get(), 1); }

bool Poller::ask(int patience) {
    bool const ready_anyway = always_ready();
    int const count = ::epoll_wait(set_.get(), ready_.data(), static_cast<int>(ready_.size()),
                                   ready_anyway ? 0 : patience);
    found_ = static_cast<std::size_t>(std::max(count, 0));
    for (std::size_t i = 0; i < found_;) {
        auto const mark = ready_[i].data.u64;
        if (mark == alarm_mark) alarm_at_ = Clock::time_point::max();
        if (mark == alarm_mark || mark == interrupter_mark) ready_[i] = ready_[--found_];
        else ++i;
    }
    return found_ > 0 || ready_anyway;
}

void Poller::dispatch() {
    for (auto const& [events, data] : std::span(ready_).first(std::exchange(found_, 0))) {
        auto const found = entries_.find(static_cast<int>(data.u64 & UINT32_MAX));
        if (found != entries_.end() && found->second.round == data.u64 >> 32)
            collect(found->second, events);
    }
    if (unpolled_ != 0) {
        for (auto const& [fd, entry] : entries_) {
            if (!entry.polled) collect(entry, entry.events);
        }
    }
    // First collected, then called: a callback may end watches, close descriptors, and open others
    // of the same number. `batch` holds the bodies, and is emptied when a callback throws.
    std::vector<std::shared_ptr<Watch>> batch;
    batch.swap(batch_);
    for (auto const& watch : batch) {
        if (watch->poller_ != nullptr) watch->work_();
    }
    batch.clear();
    if (batch_.empty()) batch_.swap(batch);  // keeps the memory
}

}  // namespace sinew::wire
