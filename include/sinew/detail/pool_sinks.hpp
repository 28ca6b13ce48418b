// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include <sinew/detail/pool_job.hpp>
#include <sinew/task/encoding.hpp>

namespace sinew {
template <class T>
class Settled;
}

namespace sinew::detail {

/// Throws the Timeout of a call that was cancelled at its wait_limit.
[[noreturn]] void throw_wait_limit(std::chrono::nanoseconds limit);

/// The part of every result that does not depend on its type: the end of the job, and waiting for
/// it.
class WaitableSink : public JobSink {
public:
    void attach(std::shared_ptr<PoolMaster> master, std::uint64_t job);

    void wait();
    bool wait_for(std::chrono::nanoseconds limit);
    bool ready() const { return ended_.load(std::memory_order_acquire); }
    bool successful();
    void cancel();
    bool cancelled();
    void when_ended(std::function<void()> work);
    /// The error of an ended job; null if there is none.
    std::exception_ptr error();
    [[noreturn]] void throw_timeout(std::chrono::nanoseconds limit) const;

    void failed(std::uint64_t index, std::exception_ptr error) override;
    void dropped(std::uint64_t first, std::uint64_t count) override;
    void ended() override;

protected:
    /// Throws the job's error, or UsageError if the job has not ended.
    void check_value();
    [[noreturn]] static void throw_move_only();
    /// Calls `decode(index)` for each task. If one cannot be decoded, it and all later ones have
    /// failed.
    template <class Decode>
    std::exception_ptr each(std::uint64_t first, std::uint32_t count, Decode const& decode) {
        for (std::uint64_t index = first; index < first + count; ++index) {
            try {
                decode(index);
            } catch (...) {
                auto const error = std::current_exception();
                for (; index < first + count; ++index) failed(index, error);
                return error;
            }
        }
        return nullptr;
    }

private:
    std::shared_ptr<PoolMaster> master_;
    std::uint64_t job_ = 0, failing_ = 0;
    std::exception_ptr error_;
    bool dropped_ = false;
    std::atomic<bool> ended_{false};  ///< set last, with the guard held
    std::condition_variable changed_;
    std::vector<std::function<void()>> callbacks_;
};

/// A sink whose job has one value as its result.
template <class T>
class ResultSink : public WaitableSink {
public:
    virtual T value() = 0;
    virtual T take() = 0;
};

/// The result of one task.
template <class R>
class SingleSink final : public ResultSink<R> {
public:
    std::exception_ptr results(std::uint64_t first, std::uint32_t count, Reader& values) override {
        return this->each(first, count, [&](std::uint64_t) {
            if constexpr (!std::is_void_v<R>) value_.emplace(decode<R>(values));
        });
    }
    R value() override {
        this->check_value();
        if constexpr (std::is_copy_constructible_v<R>) return *value_;
        else if constexpr (!std::is_void_v<R>) this->throw_move_only();
    }
    R take() override {
        this->check_value();
        if constexpr (!std::is_void_v<R>) return std::move(*value_);
    }

private:
    std::optional<std::conditional_t<std::is_void_v<R>, std::monostate, R>> value_;
};

/// Whether encoded values of R are contiguous bytes.
template <class R>
concept Flat =
    std::is_trivially_copyable_v<R> && std::is_default_constructible_v<R> && !EncodesItself<R>;

/// One value per task, in the order of the input.
template <class R>
class MapSink final : public ResultSink<std::vector<R>> {
public:
    explicit MapSink(std::uint64_t count) : count_(count), values_(new Slot[count]) {}

    std::exception_ptr results(std::uint64_t first, std::uint32_t count, Reader& values) override {
        return this->each(first, Flat<R> ? std::min(count, 1U) : count, [&](std::uint64_t index) {
            if constexpr (Flat<R>) values.read(&values_[index], count * sizeof(R));
            else values_[index].emplace(decode<R>(values));
        });
    }
    std::vector<R> value() override {
        this->check_value();
        if constexpr (!std::is_copy_constructible_v<R>) this->throw_move_only();
        std::vector<R> all;
        all.reserve(count_);
        if constexpr (std::is_copy_constructible_v<R>)
            for (std::uint64_t i = 0; i < count_; ++i) all.push_back(of(values_[i]));
        return all;
    }
    std::vector<R> take() override {
        this->check_value();
        std::vector<R> all;
        all.reserve(count_);
        for (std::uint64_t i = 0; i < count_; ++i) all.push_back(std::move(of(values_[i])));
        return all;
    }

private:
    using Slot = std::conditional_t<Flat<R>, R, std::optional<R>>;
    static R& of(Slot& slot) {
        if constexpr (Flat<R>) return slot;
        else return *slot;
    }
    std::uint64_t count_;
    std::unique_ptr<Slot[]> values_;
};

/// Tasks that return void.
class VoidMapSink final : public ResultSink<void> {
public:
    std::exception_ptr results(std::uint64_t, std::uint32_t, Reader&) override { return nullptr; }
    void value() override { check_value(); }
    void take() override { check_value(); }
};

/// One outcome per task; exceptions of tasks are not thrown.
template <class R>
class SettledSink final : public ResultSink<std::vector<Settled<R>>> {
public:
    explicit SettledSink(std::uint64_t count) : outcomes_(count) {}
    std::exception_ptr results(std::uint64_t first, std::uint32_t count, Reader& values) override {
        return this->each(first, count, [&](std::uint64_t index) {
            if constexpr (std::is_void_v<R>) outcomes_[index] = Settled<R>(std::monostate());
            else outcomes_[index] = Settled<R>(decode<R>(values));
        });
    }
    void failed(std::uint64_t index, std::exception_ptr error) override {
        outcomes_[index] = Settled<R>(std::move(error));
    }
    std::vector<Settled<R>> value() override {
        this->check_value();
        if constexpr (std::is_copy_constructible_v<R> || std::is_void_v<R>) return outcomes_;
        else this->throw_move_only();
    }
    std::vector<Settled<R>> take() override {
        this->check_value();
        return std::move(outcomes_);
    }

private:
    std::vector<Settled<R>> outcomes_;
};

}  // namespace sinew::detail
