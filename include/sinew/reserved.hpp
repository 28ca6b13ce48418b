// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <utility>

#include <sinew/detail/queue_end.hpp>

namespace sinew {

template <class>
class Queue;

/// An item taken from a queue by Queue::reserve(). It returns to the front of the queue if this
/// object is destroyed without `ack`, or if this process dies. Not thread-safe.
template <class T>
class Reserved {
public:
    Reserved(Reserved&& other) noexcept = default;
    Reserved& operator=(Reserved&& other) noexcept {
        if (this != &other) {
            release();
            value_ = std::move(other.value_);
            end_ = std::move(other.end_);
            ticket_ = other.ticket_;
        }
        return *this;
    }
    ~Reserved() { release(); }

    T& value() { return value_; }
    T const& value() const { return value_; }
    /// Acknowledges the item: no other reader gets it. Sent at once.
    void ack() {
        if (auto const end = std::exchange(end_, nullptr)) end->acknowledge(ticket_);
    }
    /// Returns the item to the front of the queue.
    void release() {
        if (auto const end = std::exchange(end_, nullptr)) end->give_back(ticket_);
    }

private:
    friend class Queue<T>;
    Reserved(T value, std::shared_ptr<detail::QueueEnd> end, std::uint64_t ticket)
        : value_(std::move(value)), end_(std::move(end)), ticket_(ticket) {}
    T value_;
    std::shared_ptr<detail::QueueEnd> end_;
    std::uint64_t ticket_;
};

}  // namespace sinew
