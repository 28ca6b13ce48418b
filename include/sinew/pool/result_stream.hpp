// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <iterator>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include <sinew/detail/pool_job.hpp>
#include <sinew/pool/async_result.hpp>
#include <sinew/remote_error.hpp>

namespace sinew {

namespace detail {

/// Buffers results until they are read.
template <class R>
class StreamSink final : public JobSink {
public:
    enum class Order : std::uint8_t { input, completion };
    StreamSink(PoolMaster& master, Order order) : master_(master), order_(order) {}

    std::exception_ptr results(std::uint64_t first, std::uint32_t count, Reader& values) override {
        auto const left = values.left();
        std::exception_ptr error;
        for (std::uint64_t index = first; index < first + count; ++index) {
            if (error) put(index, Settled<R>(error));
            else put(index, decoded(values, error));
        }
        arrived_ += count;
        bytes_ += left - values.left();
        return error;
    }
    void failed(std::uint64_t index, std::exception_ptr error) override {
        put(index, Settled<R>(std::move(error)));
    }
    void dropped(std::uint64_t first, std::uint64_t count) override {
        auto const error = std::make_exception_ptr(Cancelled("the task was dropped"));
        for (auto index = first; index < first + count; ++index) put(index, Settled<R>(error));
    }
    void ended() override {
        ended_ = true;
        master_.notify(changed_);
    }

    /// Blocks for the next outcome; nothing at the end.
    std::optional<Settled<R>> next() {
        std::unique_lock lock(master_.guard());
        master_.wait(lock, changed_, std::chrono::steady_clock::time_point::max(),
                     [this] { return front_is_there() || ended_; });
        if (!front_is_there()) return {};
        auto outcome = std::move(buffer_.front());
        buffer_.pop_front();
        ++taken_;
        mean_bytes_ = arrived_ == 0 ? 0 : bytes_ / arrived_;
        return outcome;
    }
    /// Mean encoded size of results in bytes, as of the last `next`. For the thread that calls
    /// `next`.
    std::uint64_t mean_bytes() const { return mean_bytes_; }

private:
    static Settled<R> decoded(Reader& values, std::exception_ptr& error) {
        try {
            if constexpr (std::is_void_v<R>) return Settled<R>(std::monostate());
            else return Settled<R>(decode<R>(values));
        } catch (...) {
            error = std::current_exception();
            return Settled<R>(error);
        }
    }
    bool front_is_there() const { return !buffer_.empty() && buffer_.front().has_value(); }
    void put(std::uint64_t index, Settled<R> outcome) {
        if (order_ == Order::completion) {
            buffer_.push_back(std::move(outcome));
        } else {
            auto const place = index - taken_;
            if (buffer_.size() <= place) buffer_.resize(place + 1);
            buffer_[place] = std::move(outcome);
        }
        if (front_is_there()) master_.notify(changed_);
    }

    PoolMaster& master_;
    Order order_;
    std::deque<std::optional<Settled<R>>> buffer_;
    std::uint64_t taken_ = 0, arrived_ = 0, bytes_ = 0, mean_bytes_ = 0;
    bool ended_ = false;
    std::condition_variable changed_;
};

/// Supplies a job with tasks from an input while its results are read. The number and the bytes of
/// tasks ahead (arguments and results together) are bounded. Until the first result shows the size
/// of results, only few tasks are submitted.
class StreamFeeder {
public:
    /// Adds the arguments of the next task; returns false at the end of the input.
    using Pull = std::function<bool(ArgumentBlock&)>;
    StreamFeeder(std::shared_ptr<PoolMaster> master, JobSpec spec, Pull pull);
    StreamFeeder(StreamFeeder const&) = delete;
    /// Cancels the tasks whose results were not read.
    ~StreamFeeder();
    /// One result was read; `result_bytes` is the mean size of results.
    void taken_one(std::uint64_t result_bytes);

private:
    std::shared_ptr<ArgumentBlock> pull_some();
    /// Estimated bytes of outstanding tasks.
    std::uint64_t bytes_ahead() const;
    std::shared_ptr<PoolMaster> master_;
    Pull pull_;
    std::uint64_t job_ = 0, outstanding_ = 0, bytes_ = 0, pulled_ = 0, result_bytes_ = 0;
    std::uint64_t most_tasks_;
    bool exhausted_ = false;
};

}  // namespace detail

/// Results as an input range: `for (auto& r : pool.imap<f>(xs))`. The input is read on the caller's
/// thread, as results are read: at most some thousand tasks and 64 MiB of arguments and results
/// ahead (256 tasks until the first result shows their size). If a task failed, reading its element
/// throws what it threw; the following elements can still be read. The destructor cancels the tasks
/// that were not read.
///
/// Move-only. Not thread-safe.
template <class R>
class ResultStream {
public:
    using Sink = detail::StreamSink<R>;
    ResultStream(std::shared_ptr<detail::PoolMaster> master, detail::JobSpec spec,
                 detail::StreamFeeder::Pull pull, std::shared_ptr<Sink> sink)
        : master_(master), sink_(std::move(sink)),
          feeder_(std::make_unique<detail::StreamFeeder>(std::move(master), std::move(spec),
                                                         std::move(pull))) {}

    class Iterator {
    public:
        using difference_type = std::ptrdiff_t;
        using value_type = typename Settled<R>::Value;
        using iterator_concept = std::input_iterator_tag;
        Iterator() = default;
        explicit Iterator(ResultStream& stream) : stream_(&stream) {}
        value_type& operator*() const { return stream_->current_->take(); }
        Iterator& operator++() {
            stream_->advance();
            return *this;
        }
        void operator++(int) { ++*this; }
        bool operator==(std::default_sentinel_t) const { return !stream_->current_; }

    private:
        ResultStream* stream_ = nullptr;
    };

    Iterator begin() {
        if (!begun_) advance();
        return Iterator(*this);
    }
    std::default_sentinel_t end() const { return {}; }

private:
    void advance() {
        begun_ = true;
        current_ = sink_->next();
        if (current_) feeder_->taken_one(sink_->mean_bytes());
    }
    std::shared_ptr<detail::PoolMaster> master_;  ///< outlives the sink, which refers to it
    std::shared_ptr<Sink> sink_;
    std::unique_ptr<detail::StreamFeeder> feeder_;
    std::optional<Settled<R>> current_;
    bool begun_ = false;
};

}  // namespace sinew
