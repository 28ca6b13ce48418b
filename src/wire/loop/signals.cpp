// SPDX-License-Identifier: Apache-2.0
#include "src/wire/loop/signals.hpp"

#include <signal.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <mutex>
#include <sinew/error.hpp>

#include "src/base/system/io.hpp"
#include "src/base/text.hpp"

namespace sinew::wire {
namespace {

constexpr std::size_t most_slots = 64;  ///< objects at the same time

// State of the signal handler. The eventfd of a destroyed object is kept for the next one: a
// handler running on another thread must not write into a reused descriptor number. A forked child
// has separate counts, so its signals are not delivered to the parent.
std::array<std::atomic<std::uint64_t>, NSIG> raised;
std::array<std::atomic<int>, most_slots> events;  ///< descriptor + 1; 0: none yet
static_assert(std::atomic<std::uint64_t>::is_always_lock_free);

void note_signal(int number) {
    int const error = errno;
    raised[static_cast<std::size_t>(number)].fetch_add(1);
    for (auto const& each : events) {
        int const fd = each.load() - 1;
        std::uint64_t const one = 1;
        if (fd >= 0) [[maybe_unused]]
            auto const written = ::write(fd, &one, sizeof one);
    }
    errno = error;
}

/// Which signals are wanted, and which eventfds are in use.
class Registry {
public:
    int take_slot() {
        std::lock_guard const lock(mutex_);
        auto const free = std::ranges::find(in_use_, false);
        if (free == in_use_.end())
            throw SystemError(text("more than ", most_slots, " waits for signals in one process"),
                              EMFILE);
        auto const slot = static_cast<std::size_t>(free - in_use_.begin());
        if (events[slot].load() == 0) {
            int const fd = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
            if (fd < 0)
                throw_errno("a descriptor for signals cannot be created",
                            "Is the limit of open files (ulimit -n) reached?");
            events[slot].store(fd + 1);
        }
        *free = true;
        return static_cast<int>(slot);
    }
    void give_slot(int slot) {
        std::lock_guard const lock(mutex_);
        in_use_[static_cast<std::size_t>(slot)] = false;
    }
    /// Installs the handler at the first use. Returns how many of these signals were raised before.
    std::uint64_t want(int number) {
        std::lock_guard const lock(mutex_);
        if (number <= 0 || number >= NSIG) refuse(number, EINVAL);
        auto const before = raised[static_cast<std::size_t>(number)].load();
        if (former(number).users == 0) {
            struct sigaction action {};
            action.sa_handler = note_signal;
            action.sa_flags = SA_RESTART;
            ::sigfillset(&action.sa_mask);
            if (::sigaction(number, &action, &former(number).action) != 0) refuse(number, errno);
        }
        ++former(number).users;
        return before;
    }
    void want_no_longer(int number) {
        std::lock_guard const lock(mutex_);
        if (--former(number).users == 0) ::sigaction(number, &former(number).action, nullptr);
    }

private:
    struct Former {
        int users = 0;
        struct sigaction action {};
    };
    [[noreturn]] static void refuse(int number, int error) {
        throw_errno(text("signal ", number, " cannot be handled"), {}, error);
    }
    Former& former(int number) { return former_[static_cast<std::size_t>(number)]; }

    std::mutex mutex_;
    std::array<bool, most_slots> in_use_{};
    std::array<Former, NSIG> former_;
};

Registry& registry() {
    static auto& the_one = *new Registry;  // threads may outlive static objects
    return the_one;
}

}  // namespace

void Signals::start(Poller& poller, std::initializer_list<int> numbers) {
    slot_ = registry().take_slot();
    int const fd = events[static_cast<std::size_t>(slot_)].load() - 1;
    watch_ = poller.add(fd, Poller::Direction::read, [this, fd] { deliver(fd); });
    wanted_.reserve(numbers.size());
    for (int const number : numbers) wanted_.push_back({number, registry().want(number)});
    std::ranges::sort(wanted_, {}, &Wanted::number);
}

// Delivers one signal per call, since `work_` may throw or destroy this object.
void Signals::deliver(int event) {
    eventfd_t unused = 0;
    ::eventfd_read(event, &unused);
    auto const is_new = [](Wanted const& each) {
        return raised[static_cast<std::size_t>(each.number)].load() != each.seen;
    };
    auto const first = std::ranges::find_if(wanted_, is_new);
    if (first == wanted_.end()) return;
    if (std::any_of(first + 1, wanted_.end(), is_new)) ::eventfd_write(event, 1);
    first->seen = raised[static_cast<std::size_t>(first->number)].load();
    auto const self = shared_from_this();
    work_(first->number);
}

void Signals::cancel() noexcept {
    watch_ = nullptr;
    for (auto const& each : wanted_) registry().want_no_longer(each.number);
    wanted_.clear();
    if (slot_ >= 0) registry().give_slot(std::exchange(slot_, -1));
}

}  // namespace sinew::wire
