// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <atomic>
#include <deque>
#include <sinew/managed/barrier.hpp>
#include <sinew/manager.hpp>
#include <sinew/manager/deferred.hpp>
#include <utility>

#include "src/base/text.hpp"

namespace sinew::managed {

/// A barrier as its manager holds it.
class Gathering {
public:
    explicit Gathering(std::size_t parties) : parties_(parties) {
        if (parties == 0) throw UsageError("a barrier of 0 parties (must be at least 1)");
    }

    Deferred<std::size_t> wait(std::uint64_t ticket) {
        if (broken_) throw BrokenBarrier(text("the barrier is broken (", why_, "). Reset it"));
        if (there_.size() + 1 < parties_) {
            there_.push_back({Promise<std::size_t>(), this_call::caller(), ticket});
            return there_.back().promise;
        }
        std::size_t index = 0;
        for (auto const& each : std::exchange(there_, {})) each.promise.answer(index++);
        return index;
    }
    void give_up(std::uint64_t ticket) {
        auto const who = this_call::caller();
        auto const is_it = [&](Party const& each) {
            return each.process == who && each.ticket == ticket;
        };
        if (std::any_of(there_.begin(), there_.end(), is_it))
            break_it("one of them has reached its time limit");
    }
    void abort() { break_it("it was aborted"); }
    void reset() {
        break_it("it was reset");
        broken_ = false;
    }
    std::size_t parties() const { return parties_; }
    std::size_t waiting() const { return there_.size(); }
    bool broken() const { return broken_; }

    // The calls of a lost process count as withdrawn, too.
    void calls_withdrawn() {
        if (std::erase_if(there_, [](Party const& each) { return !each.promise.waiting(); }) > 0)
            break_it("one of them has given up, or is lost");
    }

private:
    struct Party {
        Promise<std::size_t> promise;
        Caller process;
        std::uint64_t ticket = 0;
    };
    void break_it(char const* why) {
        broken_ = true;
        why_ = why;
        for (auto const& each : std::exchange(there_, {}))
            each.promise.fail(BrokenBarrier(
                text("not all ", parties_, " parties of a barrier arrived: ", why, ". Reset it")));
    }

    std::size_t const parties_;
    bool broken_ = false;
    char const* why_ = "";
    std::deque<Party> there_;
};

char const* AsyncBarrier::kept() { return typeid(Gathering).name(); }
std::uint64_t AsyncBarrier::next_ticket() {
    static std::atomic<std::uint64_t> tickets{0};
    return ++tickets;
}
Reply<std::size_t> AsyncBarrier::wait(std::uint64_t ticket) const {
    return object().async<&Gathering::wait>(ticket);
}
void AsyncBarrier::give_up(std::uint64_t ticket) const {
    object().oneway<&Gathering::give_up>(ticket);
}
Reply<void> AsyncBarrier::abort() const { return object().async<&Gathering::abort>(); }
Reply<void> AsyncBarrier::reset() const { return object().async<&Gathering::reset>(); }
Reply<std::size_t> AsyncBarrier::parties() const { return object().async<&Gathering::parties>(); }
Reply<std::size_t> AsyncBarrier::waiting() const { return object().async<&Gathering::waiting>(); }
Reply<bool> AsyncBarrier::broken() const { return object().async<&Gathering::broken>(); }

std::size_t Barrier::wait_for(std::chrono::nanoseconds limit) const {
    auto const ticket = AsyncBarrier::next_ticket();
    auto const reply = async().wait(ticket);
    if (!reply.wait_for(limit)) async().give_up(ticket);
    return reply.get();
}

}  // namespace sinew::managed

namespace sinew {

managed::Barrier Manager::barrier(std::size_t parties) {
    return managed::Barrier(create<managed::Gathering>(parties));
}

}  // namespace sinew
