// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <deque>
#include <sinew/managed/semaphore.hpp>
#include <sinew/manager.hpp>
#include <sinew/manager/deferred.hpp>
#include <utility>

#include "src/base/text.hpp"

namespace sinew::managed {

/// A semaphore as its manager holds it. `bound`: the maximum value; 0: none.
class Permits {
public:
    Permits(std::int64_t value, std::int64_t bound) : value_(value), bound_(bound) {
        if (value < 0 || (bound > 0 && value > bound))
            throw UsageError(text("a semaphore of ", value, " permits (must not be negative)"));
    }

    Deferred<void> acquire() {
        if (try_acquire()) return {};
        return waiters_.emplace_back();
    }
    bool try_acquire() {
        if (value_ == 0) return false;
        take(this_call::caller());
        return true;
    }
    void release(std::int64_t count) {
        if (count < 1) throw UsageError(text("releasing ", count, " permits (must be at least 1)"));
        if (bound_ > 0 && count > bound_ - value_)
            throw UsageError(text("releasing ", count, " permits of a semaphore that has ", value_,
                                  " of ", bound_, ". Release what was acquired, once"));
        for (std::int64_t i = 0; bound_ > 0 && i < count; ++i) give_back(this_call::caller());
        value_ += count;
        serve();
    }
    std::int64_t value() const { return value_; }

    void calls_withdrawn() {
        std::erase_if(waiters_, [](auto const& each) { return !each.waiting(); });
    }
    void caller_lost(Caller who) {
        value_ += static_cast<std::int64_t>(std::erase(taken_, who));
        serve();
    }

private:
    void take(Caller who) {
        --value_;
        if (bound_ > 0) taken_.push_back(who);
    }
    // Removes a permit of `who`, or the oldest one if it has none: permits may be passed between
    // processes.
    void give_back(Caller who) {
        auto const own = std::find(taken_.begin(), taken_.end(), who);
        taken_.erase(own == taken_.end() ? taken_.begin() : own);
    }
    void serve() {
        while (value_ > 0 && !waiters_.empty()) {
            auto const first = std::move(waiters_.front());
            waiters_.pop_front();
            if (first.answer()) take(first.caller());
        }
    }

    std::int64_t value_;
    std::int64_t const bound_;
    std::deque<Caller> taken_;  ///< bounded only: the holder of each permit, oldest first
    std::deque<Promise<void>> waiters_;
};

char const* AsyncSemaphore::kept() { return typeid(Permits).name(); }
Reply<void> AsyncSemaphore::acquire() const { return object().async<&Permits::acquire>(); }
Reply<bool> AsyncSemaphore::try_acquire() const { return object().async<&Permits::try_acquire>(); }
Reply<void> AsyncSemaphore::release(std::int64_t count) const {
    return object().async<&Permits::release>(count);
}
Reply<std::int64_t> AsyncSemaphore::value() const { return object().async<&Permits::value>(); }

}  // namespace sinew::managed

namespace sinew {

managed::Semaphore Manager::semaphore(std::int64_t permits) {
    return managed::Semaphore(create<managed::Permits>(permits, std::int64_t{0}));
}
managed::Semaphore Manager::bounded_semaphore(std::int64_t permits) {
    if (permits < 1)
        throw UsageError(text("a bounded semaphore of ", permits, " permits (must be at least 1)"));
    return managed::Semaphore(create<managed::Permits>(permits, permits));
}

}  // namespace sinew
