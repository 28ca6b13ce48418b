// SPDX-License-Identifier: Apache-2.0
#include "src/wire/poller.hpp"

#include <sys/epoll.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <sinew/error.hpp>

#include "src/base/text.hpp"

namespace sinew::wire {
namespace {

std::uint32_t mask(Poller::Direction direction) {
    return direction == Poller::Direction::read ? EPOLLIN : EPOLLOUT;
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
    event.data.fd = fd;
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

bool Poller::dispatch() {
    std::array<epoll_event, 128> ready;
    int const count = ::epoll_wait(set_.get(), ready.data(), static_cast<int>(ready.size()), 0);
    for (int i = 0; i < count; ++i) {
        auto const found = entries_.find(ready[static_cast<std::size_t>(i)].data.fd);
        if (found != entries_.end())
            collect(found->second, ready[static_cast<std::size_t>(i)].events);
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
    return count > 0;
}

}  // namespace sinew::wire
