// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
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

/// How one element of an input becomes the arguments of a call: itself, or its parts (starmap).
template <class F, class Element>
struct MapCall {
    using Call = detail::Call<F, Element>;
    static void encode(Writer& writer, Element const& element) {
        Call::encode_arguments(writer, element);
    }
};
template <class F, class Element>
struct StarCall {
    using Call = NoCall;  // before the error, behind which clang defines no more members
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

/// Submits a job whose result is one value.
template <class Sink>
auto submit(std::shared_ptr<PoolMaster> const& master, JobSpec spec, std::shared_ptr<Sink> sink) {
    spec.sink = sink;
    spec.job = master->new_job();
    sink->attach(master, spec.job);  // it may end before submit returns
    master->submit(std::move(spec));
    return sink;
}

}  // namespace detail

/// The calls of a Pool, with these options. Functions are named at compile time (`map<f>`, which also
/// gives them their meta_of), or passed by name (`map(f, xs)`), or are lambdas without captures, or
/// objects that can be encoded; inputs are ranges, whose elements are encoded at the call.
///
/// map and its relatives throw what a task threw: the one with the lowest index, with its
/// std type where that is known (see RemoteAs); tasks behind it that have not begun are dropped.
class PoolCalls {
public:
    PoolCalls(std::shared_ptr<detail::PoolMaster> master, TaskOptions options)
        : master_(std::move(master)), options_(options) {}

    /// f of every input, in the inputs' order: a std::vector; void when f returns nothing.
    template <auto F, std::ranges::input_range Range>
    auto map(Range&& inputs) const {
        return map(Task<F>(), inputs);
    }
    template <class F, std::ranges::input_range Range>
    auto map(F const& f, Range&& inputs) const {
        return map_async(f, inputs).get();
    }
    template <auto F, std::ranges::input_range Range>
    auto map_async(Range&& inputs) const {
        return map_async(Task<F>(), inputs);
    }
    template <class F, std::ranges::input_range Range>
    auto map_async(F const& f, Range&& inputs) const {
        return all<detail::MapCall<F, std::ranges::range_value_t<Range>>>(f, inputs);
    }
    /// Inputs are tuples (or pairs), whose parts are f's arguments.
    template <auto F, std::ranges::input_range Range>
    auto starmap(Range&& inputs) const {
        return starmap(Task<F>(), inputs);
    }
    template <class F, std::ranges::input_range Range>
    auto starmap(F const& f, Range&& inputs) const {
        return starmap_async(f, inputs).get();
    }
    template <auto F, std::ranges::input_range Range>
    auto starmap_async(Range&& inputs) const {
        return starmap_async(Task<F>(), inputs);
    }
    template <class F, std::ranges::input_range Range>
    auto starmap_async(F const& f, Range&& inputs) const {
        return all<detail::StarCall<F, std::ranges::range_value_t<Range>>>(f, inputs);
    }
    /// As map, but every task ends for itself: a std::vector<Settled<R>>.
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
        return AsyncResult<std::vector<Settled<R>>>(detail::submit(master_, std::move(spec), sink))
            .get();
    }

    /// One call.
    template <auto F, class... Passed>
    auto apply(Passed const&... arguments) const {
        return apply_async<F>(arguments...).get();
    }
    template <class F, class... Passed>
    auto apply(F const& f, Passed const&... arguments) const {
        return apply_async(f, arguments...).get();
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

    /// Results one after the other, in the inputs' order (imap) or as they come; the inputs are read
    /// on the way. See ResultStream. An input that is no temporary must outlive the stream.
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
        // The input (a reference, where it is no temporary) and the place in it.
        struct Input {
            explicit Input(Range&& range_)
                : range(std::forward<Range>(range_)), at(std::ranges::begin(range)) {}
            Range range;
            std::ranges::iterator_t<Range> at;
            bool first = true;
        };
        auto input = std::make_shared<Input>(std::forward<Range>(inputs));
        auto pull = [input](detail::ArgumentBlock& block) {
            // Moved on only when the next is wanted: an input may block until then.
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
