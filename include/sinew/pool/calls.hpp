// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <ranges>
#include <tuple>
#include <utility>
#include <vector>

#include <sinew/detail/call.hpp>
#include <sinew/pool/async_result.hpp>
#include <sinew/pool/range.hpp>
#include <sinew/pool/result_stream.hpp>

namespace sinew {

namespace detail {

/// Encodes one element of an input as the arguments of a call: the element itself, or its parts
/// (starmap).
template <class F, class Element>
struct MapCall {
    using Call = detail::Call<F, Element>;
    static void encode(Writer& writer, Element const& element) {
        Call::encode_arguments(writer, element);
    }
};
template <class F, class Element>
struct StarCall {
    using Call = NoCall;  // must precede the error: clang defines no members after it
    static void encode(Writer&, Element const&) {}
    static constexpr bool tuple = sizeof(Element) == 0;
    static_assert(tuple,
                  "sinew: starmap's inputs are tuples or pairs, whose parts are the arguments; for "
                  "functions of one argument there is map");
};
template <class F, template <class...> class Tuple, class... Parts>
struct StarCall<F, Tuple<Parts...>> {
    using Call = detail::Call<F, std::decay_t<Parts>...>;
    static void encode(Writer& writer, Tuple<Parts...> const& element) {
        std::apply([&](auto const&... parts) { Call::encode_arguments(writer, parts...); },
                   element);
    }
};

template <class How, std::ranges::input_range Range>
std::shared_ptr<ArgumentBlock> arguments_of(Range&& inputs) {
    auto block = std::make_shared<ArgumentBlock>();
    for (std::ranges::range_value_t<Range> const& input : inputs) {
        How::encode(block->bytes, input);
        block->task_ended();
    }
    return block;
}

template <class How, class F>
JobSpec job_of(F const& function, TaskOptions const& options) {
    JobSpec spec;
    spec.function = &How::Call::entry();
    How::Call::encode_function(spec.state, function);
    spec.options = options;
    return spec;
}

/// Submits a job and returns its sink.
template <class Sink>
auto submit(std::shared_ptr<PoolMaster> const& master, JobSpec spec, std::shared_ptr<Sink> sink) {
    spec.sink = sink;
    spec.job = master->new_job();
    sink->attach(master, spec.job);  // the job may end before submit returns
    master->submit(std::move(spec));
    return sink;
}

}  // namespace detail

/// The calls of a Pool, with certain TaskOptions. Functions are named at compile time (`map<f>`,
/// which also applies their meta_of), passed by name (`map(f, xs)`), or are lambdas without
/// captures or function objects that can be encoded. Inputs are ranges; their elements are encoded
/// at the call.
///
/// map and the similar calls throw what a task threw: of the failing tasks, the one with the lowest
/// index, by its std type if that is known (see RemoteAs). Later tasks that have not begun are
/// dropped. All calls throw UsageError after close(), and PoolBroken if workers cannot be started.
/// Thread-safe.
class PoolCalls {
public:
    PoolCalls(std::shared_ptr<detail::PoolMaster> master, TaskOptions options)
        : master_(std::move(master)), options_(options) {}

    /// Applies f to every input. Blocks, and returns a std::vector in the order of the inputs, or
    /// nothing if f returns void. map_async returns an AsyncResult at once.
    template <auto F, std::ranges::input_range Range>
    auto map(Range&& inputs) const {
        return map(Task<F>(), inputs);
    }
    template <class F, std::ranges::input_range Range>
    auto map(F const& f, Range&& inputs) const {
        return value_of(map_async(f, inputs));
    }
    template <auto F, std::ranges::input_range Range>
    auto map_async(Range&& inputs) const {
        return map_async(Task<F>(), inputs);
    }
    template <class F, std::ranges::input_range Range>
    auto map_async(F const& f, Range&& inputs) const {
        return all<detail::MapCall<F, std::ranges::range_value_t<Range>>>(f, inputs);
    }
    /// As map, for inputs that are tuples or pairs, whose elements are f's arguments.
    template <auto F, std::ranges::input_range Range>
    auto starmap(Range&& inputs) const {
        return starmap(Task<F>(), inputs);
    }
    template <class F, std::ranges::input_range Range>
    auto starmap(F const& f, Range&& inputs) const {
        return value_of(starmap_async(f, inputs));
    }
    template <auto F, std::ranges::input_range Range>
    auto starmap_async(Range&& inputs) const {
        return starmap_async(Task<F>(), inputs);
    }
    template <class F, std::ranges::input_range Range>
    auto starmap_async(F const& f, Range&& inputs) const {
        return all<detail::StarCall<F, std::ranges::range_value_t<Range>>>(f, inputs);
    }
    /// As map, but returns a std::vector<Settled<R>>: a value or an exception for each task.
    template <auto F, std::ranges::input_range Range>
    auto map_settled(Range&& inputs) const {
        return map_settled(Task<F>(), inputs);
    }
    template <class F, std::ranges::input_range Range>
    auto map_settled(F const& f, Range&& inputs) const {
        using How = detail::MapCall<F, std::ranges::range_value_t<Range>>;
        using R = typename How::Call::Result;
        auto spec = detail::job_of<How>(f, options_);
        spec.arguments = detail::arguments_of<How>(inputs);
        spec.stop_at_failure = false;
        auto sink = std::make_shared<detail::SettledSink<R>>(spec.arguments->count());
        return value_of(
            AsyncResult<std::vector<Settled<R>>>(detail::submit(master_, std::move(spec), sink)));
    }

    /// Calls f once with the arguments and returns its result. apply_async returns an AsyncResult
    /// at once.
    template <auto F, class... Passed>
    auto apply(Passed const&... arguments) const {
        return value_of(apply_async<F>(arguments...));
    }
    template <class F, class... Passed>
    auto apply(F const& f, Passed const&... arguments) const {
        return value_of(apply_async(f, arguments...));
    }
    template <auto F, class... Passed>
    auto apply_async(Passed const&... arguments) const {
        return apply_async(Task<F>(), arguments...);
    }
    template <class F, class... Passed>
    auto apply_async(F const& f, Passed const&... arguments) const {
        using How = OneCall<F, Passed...>;
        using R = typename How::Call::Result;
        auto spec = detail::job_of<How>(f, options_);
        spec.arguments = std::make_shared<detail::ArgumentBlock>();
        How::Call::encode_arguments(spec.arguments->bytes, arguments...);
        spec.arguments->task_ended();
        auto sink = std::make_shared<detail::SingleSink<R>>();
        return AsyncResult<R>(detail::submit(master_, std::move(spec), sink));
    }

    /// Returns a ResultStream, which yields the results one after the other: in the order of the
    /// inputs (imap) or of completion (imap_unordered). The inputs are read meanwhile; an input
    /// that is not a temporary must outlive the stream.
    template <auto F, std::ranges::input_range Range>
    auto imap(Range&& inputs) const {
        return imap(Task<F>(), std::forward<Range>(inputs));
    }
    template <class F, std::ranges::input_range Range>
    auto imap(F const& f, Range&& inputs) const {
        return stream(f, std::forward<Range>(inputs), Order::input);
    }
    template <auto F, std::ranges::input_range Range>
    auto imap_unordered(Range&& inputs) const {
        return imap_unordered(Task<F>(), std::forward<Range>(inputs));
    }
    template <class F, std::ranges::input_range Range>
    auto imap_unordered(F const& f, Range&& inputs) const {
        return stream(f, std::forward<Range>(inputs), Order::completion);
    }

protected:
    detail::PoolMaster& master() const { return *master_; }
    std::shared_ptr<detail::PoolMaster> const& shared_master() const { return master_; }

private:
    enum class Order : std::uint8_t { input, completion };
    template <class T>
    T value_of(AsyncResult<T> result) const {
        auto const limit = options_.wait_limit;
        if (limit.count() > 0 && !result.wait_for(limit)) {
            result.cancel();
            detail::throw_wait_limit(limit);
        }
        return std::move(result).get();
    }
    template <class F, class... Passed>
    struct OneCall {
        using Call = detail::Call<F, Passed...>;
    };

    template <class How, class F, class Range>
    auto all(F const& f, Range&& inputs) const {
        using R = typename How::Call::Result;
        auto spec = detail::job_of<How>(f, options_);
        spec.arguments = detail::arguments_of<How>(inputs);
        if constexpr (std::is_void_v<R>) {
            auto sink = std::make_shared<detail::VoidMapSink>();
            return AsyncResult<void>(detail::submit(master_, std::move(spec), sink));
        } else {
            auto sink = std::make_shared<detail::MapSink<R>>(spec.arguments->count());
            return AsyncResult<std::vector<R>>(detail::submit(master_, std::move(spec), sink));
        }
    }

    template <class F, class Range>
    auto stream(F const& f, Range&& inputs, Order order) const {
        using How = detail::MapCall<F, std::ranges::range_value_t<Range>>;
        using Stream = ResultStream<typename How::Call::Result>;
        using Sink = typename Stream::Sink;
        auto spec = detail::job_of<How>(f, options_);
        spec.stop_at_failure = false;
        spec.job = master_->new_job();
        auto sink = std::make_shared<Sink>(
            *master_, order == Order::input ? Sink::Order::input : Sink::Order::completion);
        spec.sink = sink;
        // The input (a reference unless it is a temporary) and the position in it.
        struct Input {
            explicit Input(Range&& range_)
                : range(std::forward<Range>(range_)), at(std::ranges::begin(range)) {}
            Range range;
            std::ranges::iterator_t<Range> at;
            bool first = true;
        };
        auto input = std::make_shared<Input>(std::forward<Range>(inputs));
        auto pull = [input](detail::ArgumentBlock& block) {
            // Advanced only when the next element is needed, since that may block.
            if (!std::exchange(input->first, false)) ++input->at;
            if (input->at == std::ranges::end(input->range)) return false;
            How::encode(block.bytes, *input->at);
            return true;
        };
        return Stream(master_, std::move(spec), std::move(pull), std::move(sink));
    }

    std::shared_ptr<detail::PoolMaster> master_;
    TaskOptions options_;
};

}  // namespace sinew
