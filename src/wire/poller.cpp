// SPDX-License-Identifier: Apache-2.0
#include "src/wire/poller.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <sinew/error.hpp>
#include <span>
#include <utility>

#include "src/base/text.hpp"

namespace sinew::wire {
namespace {

std::uint32_t mask(Poller::Direction direction) {
    return direction == Poller::Direction::read ? EPOLLIN : EPOLLOUT;
}

// What the kernel says is ready may by now be another file under the same number.
std::uint64_t mark(int fd, std::uint32_t round) {
    return std::uint64_t{round} << 32 | static_cast<std::uint32_t>(fd);
}

}  // namespace

Poller::Poller() : set_(::epoll_create1(EPOLL_CLOEXEC)) {
    if (!set_)
        throw SystemError(text("no event loop (epoll_create1: ", std::strerror(errno),
                               "). Is the limit of open files (ulimit -n) reached?"),
                          errno);
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

// Brings the kernel's idea of an entry up to date.
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
    throw SystemError(
        text("descriptor ", fd, " cannot be watched (", std::strerror(error), "). Is it open?"),
        error);
}

void Poller::remove(Watch& watch) noexcept {
    auto const found = entries_.find(watch.fd_);
    if (found == entries_.end()) return;
    Entry& entry = found->second;
    std::erase(entry.watches, &watch);
    if (entry.watches.empty()) {
        if (entry.polled) {
            epoll_event unused{};  // fails where the caller has closed it already: fine
            ::epoll_ctl(set_.get(), EPOLL_CTL_DEL, watch.fd_, &unused);
        } else {
            --unpolled_;
        }
        entries_.erase(found);
        return;
    }
    try {
        update(watch.fd_, entry);
    } catch (Error const&) {}  // the same: nobody is left to be told
}

void Poller::collect(Entry const& entry, std::uint32_t events) {
    // Ends and errors concern both directions: reading or writing will tell which it was.
    bool const ended = (events & (EPOLLHUP | EPOLLERR)) != 0;
    for (Watch* const watch : entry.watches) {
        if (ended || (events & mask(watch->direction_)) != 0)
            batch_.push_back(watch->shared_from_this());
    }
}

bool Poller::poll() { return ask(0); }
bool Poller::wait() { return ask(-1); }

bool Poller::ask(int patience) {
    int const count =
        ::epoll_wait(set_.get(), ready_.data(), static_cast<int>(ready_.size()), patience);
    found_ = static_cast<std::size_t>(std::max(count, 0));
    return found_ > 0;
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
