// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <concepts>
#include <cstddef>
#include <functional>
#include <optional>
#include <ranges>
#include <type_traits>
#include <vector>

#include <sinew/comm/persistent_request.hpp>
#include <sinew/detail/deadline.hpp>
#include <sinew/request.hpp>

/// Functions that wait for several results at once: AsyncResult of a pool, Reply of a manager and
/// Request of a communicator, in any combination. They only wait; values and exceptions come from
/// get() and wait() of the results. Thread-safe, as far as the requests are. A thread that still
/// waits for a task or a call when the program ends gets Unavailable.
namespace sinew {

namespace detail {

/// Blocks until `ready()` is true; returns false at the deadline. `polled`: some of the results
/// make progress only when they are asked (requests). `others`: some are completed by the runtime.
/// `ready` is called with the runtime's guard held unless `polled`.
bool wait_until_ready(std::function<bool()> const& ready, bool polled, bool others,
                      Deadline deadline);
[[noreturn]] void refuse_empty_wait();

template <class W>
concept Waitable = requires(W& result) {
    { result.ready() } -> std::same_as<bool>;
};
template <class R>
concept Waitables = std::ranges::forward_range<R> && Waitable<std::ranges::range_value_t<R>>;

template <class W>
inline constexpr bool is_polled = std::same_as<std::remove_cvref_t<W>, Request> ||
                                  std::same_as<std::remove_cvref_t<W>, PersistentRequest>;

template <class R>
bool wait_for_some(std::function<bool()> const& ready, Deadline deadline) {
    constexpr bool polled = is_polled<std::ranges::range_value_t<R>>;
    return wait_until_ready(ready, polled, !polled, deadline);
}

template <class R>
bool wait_all_until(R& results, Deadline deadline) {
    auto next = std::ranges::begin(results);
    auto const end = std::ranges::end(results);
    // Each result is asked until it is ready, and then not again.
    return wait_for_some<R>(
        [&] {
            while (next != end && next->ready()) ++next;
            return next == end;
        },
        deadline);
}

template <class R>
std::optional<std::size_t> wait_any_until(R& results, Deadline deadline) {
    if (std::ranges::empty(results)) refuse_empty_wait();
    std::size_t found = 0;
    auto const any = [&] {
        found = 0;
        for (auto& each : results) {
            if (each.ready()) return true;
            ++found;
        }
        return false;
    };
    if (!wait_for_some<R>(any, deadline)) return std::nullopt;
    return found;
}

}  // namespace detail

/// Blocks until all results are ready. With `limit`, returns false if they are not ready by then.
template <detail::Waitables R>
void wait_all(R&& results) {
    detail::wait_all_until(results, detail::Deadline::max());
}
template <detail::Waitables R>
[[nodiscard]] bool wait_all(std::chrono::nanoseconds limit, R&& results) {
    return detail::wait_all_until(results, detail::deadline_after(limit));
}
/// As above, for results of different types: `wait_all(reply, task, request)`.
template <detail::Waitable... W>
requires(sizeof...(W) > 0) void wait_all(W&&... results) {
    detail::wait_until_ready([&] { return (results.ready() && ...); },
                             (detail::is_polled<W> || ...), (!detail::is_polled<W> || ...),
                             detail::Deadline::max());
}
template <detail::Waitable... W>
requires(sizeof...(W) > 0)
    [[nodiscard]] bool wait_all(std::chrono::nanoseconds limit, W&&... results) {
    return detail::wait_until_ready([&] { return (results.ready() && ...); },
                                    (detail::is_polled<W> || ...), (!detail::is_polled<W> || ...),
                                    detail::deadline_after(limit));
}

/// Blocks until a result is ready and returns its index, the lowest if there are several. With
/// `limit`, returns nothing if none is ready by then. Throws UsageError if there are no results.
template <detail::Waitables R>
std::size_t wait_any(R&& results) {
    return *detail::wait_any_until(results, detail::Deadline::max());
}
template <detail::Waitables R>
[[nodiscard]] std::optional<std::size_t> wait_any(std::chrono::nanoseconds limit, R&& results) {
    return detail::wait_any_until(results, detail::deadline_after(limit));
}
template <detail::Waitable... W>
requires(sizeof...(W) > 1) std::size_t wait_any(W&&... results) {
    std::size_t found = 0;
    auto const is = [&found](bool ready) {
        if (!ready) ++found;
        return ready;
    };
    detail::wait_until_ready(
        [&] {
            found = 0;
            return (is(results.ready()) || ...);
        },
        (detail::is_polled<W> || ...), (!detail::is_polled<W> || ...), detail::Deadline::max());
    return found;
}

/// The results of a range in the order in which they become ready. The range must outlive this
/// object. Not thread-safe.
template <detail::Waitables R>
class Completions {
    using Value = std::remove_reference_t<std::ranges::range_reference_t<R>>;

public:
    explicit Completions(R& results) {
        for (auto& each : results) waiting_.push_back(&each);
    }

    class Iterator {
    public:
        using value_type = std::remove_const_t<Value>;
        using difference_type = std::ptrdiff_t;
        explicit Iterator(Completions& all) : all_(&all) {}
        Value& operator*() const { return *all_->found_; }
        Iterator& operator++() {
            all_->next();
            return *this;
        }
        void operator++(int) { ++*this; }
        bool operator==(std::default_sentinel_t) const { return all_->found_ == nullptr; }

    private:
        Completions* all_;
    };

    /// Waits for the first result. May be called once.
    Iterator begin() {
        next();
        return Iterator(*this);
    }
    std::default_sentinel_t end() const { return {}; }

private:
    void next() {
        found_ = nullptr;
        if (waiting_.empty()) return;
        std::size_t place = 0;
        auto const any = [&] {
            for (place = 0; place < waiting_.size(); ++place)
                if (waiting_[place]->ready()) return true;
            return false;
        };
        detail::wait_until_ready(any, detail::is_polled<Value>, !detail::is_polled<Value>,
                                 detail::Deadline::max());
        found_ = waiting_[place];
        waiting_.erase(waiting_.begin() + static_cast<std::ptrdiff_t>(place));
    }
    std::vector<Value*> waiting_;
    Value* found_ = nullptr;
};

/// Iterates over results in the order in which they become ready:
///
///     for (auto& result : sinew::as_completed(results)) use(result.get());
template <detail::Waitables R>
Completions<R> as_completed(R& results) {
    return Completions<R>(results);
}

}  // namespace sinew
