// SPDX-License-Identifier: Apache-2.0
#include "benchmarks/peers/gloo_reduction.hpp"

#include <gloo/allreduce.h>
#include <gloo/allreduce_bcube.h>
#include <gloo/allreduce_halving_doubling.h>
#include <gloo/allreduce_ring_chunked.h>
#include <gloo/reduce.h>

#include <cstring>
#include <limits>

namespace sinew::bench {

namespace {

using Context = std::shared_ptr<gloo::Context>;
using Kind = DataType::Kind;

/// Calls visitor(T{}) for the types that both Gloo and sinew have; returns {} for the others.
template <class Visitor>
std::function<void()> visit(DataType type, Visitor const& visitor) {
    switch (type.kind()) {
        case Kind::f32:
            return visitor(float{});
        case Kind::f64:
            return visitor(double{});
        case Kind::i8:
            return visitor(std::int8_t{});
        case Kind::u8:
            return visitor(std::uint8_t{});
        case Kind::i32:
            return visitor(std::int32_t{});
        case Kind::i64:
            return visitor(std::int64_t{});
        case Kind::u64:
            return visitor(std::uint64_t{});
        default:
            return {};
    }
}

using Function = void (*)(void*, void const*, void const*, std::size_t);

/// Returns null for an operation that Gloo does not have.
template <class T>
Function function(ReduceOp const& op) {
    switch (op.kind()) {
        case ReduceOp::Kind::sum:
            return &gloo::sum<T>;
        case ReduceOp::Kind::prod:
            return &gloo::product<T>;
        case ReduceOp::Kind::min:
            return &gloo::min<T>;
        case ReduceOp::Kind::max:
            return &gloo::max<T>;
        default:
            return nullptr;
    }
}

template <class T>
gloo::ReductionFunction<T> const* older_function(ReduceOp const& op) {
    switch (op.kind()) {
        case ReduceOp::Kind::sum:
            return gloo::ReductionFunction<T>::sum;
        case ReduceOp::Kind::prod:
            return gloo::ReductionFunction<T>::product;
        case ReduceOp::Kind::min:
            return gloo::ReductionFunction<T>::min;
        case ReduceOp::Kind::max:
            return gloo::ReductionFunction<T>::max;
        default:
            return nullptr;
    }
}

template <class T>
T* input(Workload const& load) {
    return static_cast<T*>(const_cast<void*>(load.in().data));
}

template <class T>
std::function<void()> newer(Context const& context, Workload const& load) {
    Function const reduce = function<T>(load.problem().op);
    if (reduce == nullptr) return {};
    auto const options = std::make_shared<gloo::AllreduceOptions>(context);
    options->setInput(input<T>(load), load.in().count);
    options->setOutput(static_cast<T*>(load.out().data), load.out().count);
    options->setReduceFunction(reduce);
    return [options] { gloo::allreduce(*options); };
}

template <class Algorithm, class T>
std::function<void()> older(Context const& context, Workload const& load) {
    auto const* const reduce = older_function<T>(load.problem().op);
    if (reduce == nullptr) return {};
    auto* const out = static_cast<T*>(load.out().data);
    auto const algorithm = std::make_shared<Algorithm>(
        context, std::vector<T*>{out}, static_cast<int>(load.problem().count), reduce);
    return [algorithm, out, in = load.in()] {
        std::memcpy(out, in.data, in.bytes());
        algorithm->run();
    };
}

}  // namespace

std::function<void()> bind_gloo_allreduce(Context const& context, Workload const& load,
                                          std::string const& algorithm) {
    // The older interface counts bytes in an int.
    bool const fits =
        load.in().bytes() <= static_cast<std::size_t>(std::numeric_limits<int>::max());
    return visit(load.problem().type, [&](auto element) -> std::function<void()> {
        using T = decltype(element);
        if (algorithm.empty()) return newer<T>(context, load);
        if (!fits) return {};
        if (algorithm == "ring_chunked")
            return older<gloo::AllreduceRingChunked<T>, T>(context, load);
        if (algorithm == "bcube") return older<gloo::AllreduceBcube<T>, T>(context, load);
        return older<gloo::AllreduceHalvingDoubling<T>, T>(context, load);
    });
}

std::function<void()> bind_gloo_reduce(Context const& context, Workload const& load) {
    return visit(load.problem().type, [&](auto element) -> std::function<void()> {
        using T = decltype(element);
        Function const reduce = function<T>(load.problem().op);
        if (reduce == nullptr) return {};
        // Gloo needs an output on all ranks; the workload has one only on the root.
        auto const scratch =
            std::make_shared<std::vector<T>>(load.problem().is_root() ? 0 : load.problem().count);
        T* const out =
            load.problem().is_root() ? static_cast<T*>(load.out().data) : scratch->data();
        auto const options = std::make_shared<gloo::ReduceOptions>(context);
        options->setInput(input<T>(load), load.in().count);
        options->setOutput(out, load.problem().count);
        options->setReduceFunction(reduce);
        options->setRoot(Problem::root);
        return [options, scratch] { gloo::reduce(*options); };
    });
}

}  // namespace sinew::bench
