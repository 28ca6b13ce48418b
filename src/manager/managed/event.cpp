// SPDX-License-Identifier: Apache-2.0
#include <deque>
#include <sinew/managed/event.hpp>
#include <sinew/manager.hpp>
#include <sinew/manager/deferred.hpp>
#include <utility>

namespace sinew::managed {

/// An event as its manager holds it.
class Flag {
public:
    void set() {
        set_ = true;
        for (auto const& each : std::exchange(waiters_, {})) each.answer();
    }
    void clear() { set_ = false; }
    bool is_set() const { return set_; }
    Deferred<void> wait() {
        if (set_) return {};
        return waiters_.emplace_back();
    }
    void calls_withdrawn() {
        std::erase_if(waiters_, [](auto const& each) { return !each.waiting(); });
    }

private:
    bool set_ = false;
    std::deque<Promise<void>> waiters_;
};

char const* AsyncEvent::kept() { return typeid(Flag).name(); }
Reply<void> AsyncEvent::set() const { return object().async<&Flag::set>(); }
Reply<void> AsyncEvent::clear() const { return object().async<&Flag::clear>(); }
Reply<bool> AsyncEvent::is_set() const { return object().async<&Flag::is_set>(); }
Reply<void> AsyncEvent::wait() const { return object().async<&Flag::wait>(); }

}  // namespace sinew::managed

namespace sinew {

managed::Event Manager::event() { return managed::Event(create<managed::Flag>()); }

}  // namespace sinew
