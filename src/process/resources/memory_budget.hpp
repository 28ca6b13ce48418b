// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <utility>

namespace sinew::process {

/// Bytes that a process holds for one peer. Thread-safe.
class MemoryBudget {
public:
    explicit MemoryBudget(std::size_t limit) : limit_(limit) {}
    MemoryBudget(MemoryBudget const&) = delete;
    std::size_t limit() const { return limit_; }
    std::size_t used() const { return used_.load(std::memory_order_relaxed); }

private:
    friend class Reservation;
    std::size_t const limit_;
    std::atomic<std::size_t> used_{0};
};

/// A part of a budget, returned by the destructor. Without a budget it counts nothing. It may
/// exceed the budget: the owner of the peer checks that, and ends the connection.
class Reservation {
public:
    Reservation() = default;
    Reservation(std::shared_ptr<MemoryBudget> budget, std::size_t bytes)
        : budget_(std::move(budget)), bytes_(budget_ ? bytes : 0) {
        if (budget_) budget_->used_.fetch_add(bytes_, std::memory_order_relaxed);
    }
    Reservation(Reservation&& other) noexcept
        : budget_(std::exchange(other.budget_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}
    Reservation& operator=(Reservation&& other) noexcept {
        std::swap(budget_, other.budget_);
        std::swap(bytes_, other.bytes_);
        return *this;
    }
    ~Reservation() {
        if (budget_) budget_->used_.fetch_sub(bytes_, std::memory_order_relaxed);
    }

private:
    std::shared_ptr<MemoryBudget> budget_;
    std::size_t bytes_ = 0;
};

}  // namespace sinew::process
