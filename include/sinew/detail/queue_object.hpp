// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <deque>
#include <map>
#include <optional>
#include <utility>

#include <sinew/detail/queue_end.hpp>
#include <sinew/manager/deferred.hpp>

namespace sinew::detail {
PeerLost lost_items(std::size_t count);
}  // namespace sinew::detail

namespace sinew::managed {

/// The queue object in the manager's process: its items, or the readers that wait for one, or (with
/// a bound) the writers that wait for room.
template <class T>
class QueueObject {
public:
    /// `bound`: maximum number of items; 0: no limit.
    explicit QueueObject(std::size_t bound) : bound_(bound) {}

    Deferred<void> put(T const& item) {
        if (try_put(item)) return {};
        Promise<void> const promise;
        writers_.push_back({promise, item});
        return promise;
    }
    bool try_put(T const& item) {
        if (closed_) refuse("putting into a queue that is closed");
        if (bound_ > 0 && items_.size() >= bound_) return false;
        add(item);
        return true;
    }
    Deferred<T> get() {
        if (auto item = try_get()) return std::move(*item);
        if (closed_) refuse("getting from a queue that is closed and empty");
        return readers_.emplace_back();
    }
    std::optional<T> try_get() {
        if (items_.empty()) return std::nullopt;
        auto item = std::move(items_.front());
        items_.pop_front();
        let_in();
        ++taken_[this_call::caller()];
        return item;
    }
    /// An item that the caller got has been processed.
    void done() {
        if (unfinished_ == 0)
            throw UsageError("more items are done than were put. Call done() once for each get()");
        if (auto const own = taken_.find(this_call::caller());
            own != taken_.end() && own->second > 0)
            --own->second;
        --unfinished_;
        end_joins();
    }
    Deferred<void> join() {
        Promise<void> const promise;
        joiners_.push_back(promise);
        end_joins();
        return promise;
    }
    std::size_t size() const { return items_.size(); }
    void close() {
        closed_ = true;
        QueueClosed const error("the queue was closed");
        for (auto const& each : std::exchange(readers_, {})) each.fail(error);
        for (auto const& each : std::exchange(writers_, {})) each.promise.fail(error);
    }
    void calls_withdrawn() {
        std::erase_if(readers_, [](auto const& each) { return !each.waiting(); });
        std::erase_if(writers_, [](auto const& each) { return !each.promise.waiting(); });
        std::erase_if(joiners_, [](auto const& each) { return !each.waiting(); });
    }

    // The items that this process took will not be reported as done.
    void caller_lost(Caller who) {
        auto const own = taken_.find(who);
        if (own == taken_.end()) return;
        auto const count = std::min(own->second, unfinished_ - items_.size());
        taken_.erase(own);
        unfinished_ -= count;
        lost_ += count;
        end_joins();
    }

private:
    struct Writing {
        Promise<void> promise;
        T item;
    };
    [[noreturn]] static void refuse(char const* what) { throw QueueClosed(what); }
    // Delivers the item to the reader that has waited longest, if there is one.
    void add(T const& item) {
        ++unfinished_;
        while (!readers_.empty()) {
            auto const first = std::move(readers_.front());
            readers_.pop_front();
            if (!first.answer(item)) continue;
            ++taken_[first.caller()];
            return;
        }
        items_.push_back(item);
    }
    void end_joins() {
        if (unfinished_ > 0) return;
        for (auto const& each : std::exchange(joiners_, {})) {
            if (lost_ == 0) each.answer();
            else each.fail(detail::lost_items(lost_));
        }
    }
    void let_in() {
        while (!writers_.empty() && items_.size() < bound_) {
            auto const first = std::move(writers_.front());
            writers_.pop_front();
            if (first.promise.answer()) add(first.item);
        }
    }

    std::size_t const bound_;
    bool closed_ = false;
    std::size_t unfinished_ = 0;
    std::size_t lost_ = 0;  ///< items taken by processes that have ended
    std::map<Caller, std::size_t> taken_;
    std::deque<T> items_;
    std::deque<Promise<T>> readers_;
    std::deque<Writing> writers_;
    std::deque<Promise<void>> joiners_;
};

}  // namespace sinew::managed
