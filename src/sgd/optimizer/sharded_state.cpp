// SPDX-License-Identifier: Apache-2.0
#include "src/sgd/optimizer/sharded_state.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

#include "src/base/text.hpp"
#include "src/sgd/coding/conversion.hpp"
#include "src/sgd/optimizer/rules.hpp"

namespace sinew {

namespace {

constexpr DataType f32 = DataType::Kind::f32;

std::byte* element_at(Buffer const& buffer, std::size_t index) {
    return static_cast<std::byte*>(buffer.data) + index * buffer.type.size();
}

}  // namespace

ShardedOptimizer::State::State(Communicator& comm, std::vector<Parameter> parameters,
                               OptimizerRule rule, GradientOptions options)
    : parameters_(std::move(parameters)), rule_(std::move(rule)),
      buckets_(comm, gradients(), std::move(options),
               {.check = [this] { check(); },
                .options_hash = sgd::hash_of(rule_),
                .shard_update = this}) {
    kept_.resize(buckets_.buckets());
    for (std::size_t i = 0; i < kept_.size(); ++i) {
        sgd::BucketReduction const& reduction = buckets_.reduction(i);
        kept_[i].states.assign(sgd::states_of(rule_), std::vector<float>(reduction.shard()));
        if (reduction.gathered_type() == f32)
            parameters_in_f32_.resize(std::max(parameters_in_f32_.size(), reduction.shard()));
        else kept_[i].masters.resize(reduction.shard());
    }
}

std::vector<Gradient> ShardedOptimizer::State::gradients() const {
    std::vector<Gradient> all;
    for (Parameter const& parameter : parameters_)
        all.emplace_back(parameter.name, parameter.gradient);
    return all;
}

/// Called by the constructor of the buckets, which tells the other ranks of an error.
void ShardedOptimizer::State::check() const {
    sgd::check_rule(rule_);
    for (Parameter const& parameter : parameters_) {
        Buffer const& elements = parameter.elements;
        Buffer const& gradient = parameter.gradient;
        auto const index = &parameter - parameters_.data();
        if (elements.type != gradient.type || elements.count != gradient.count)
            throw UsageError(text("parameter ", index, " '", parameter.name, "' has ",
                                  elements.count, " elements of type ", elements.type.name(),
                                  ", its gradient ", gradient.count, " of type ",
                                  gradient.type.name(), " (must be equal)"));
        if (!elements.type.is_16_bit_float() && elements.type != f32)
            throw UsageError(text("parameter ", index, " '", parameter.name, "' has type ",
                                  elements.type.name(), " (must be f16, bf16 or f32)"));
        if (elements.data == nullptr && elements.count > 0)
            throw UsageError(text("parameter ", index, " '", parameter.name, "' has ",
                                  elements.count, " elements at address null"));
    }
}

std::vector<Buffer> ShardedOptimizer::State::elements() const {
    std::vector<Buffer> all;
    for (Parameter const& parameter : parameters_) all.push_back(parameter.elements);
    return all;
}

std::vector<ShardedOptimizer::State::Piece> ShardedOptimizer::State::pieces(
    std::size_t bucket) const {
    std::size_t const shard = buckets_.reduction(bucket).shard();
    std::size_t const begin = static_cast<std::size_t>(buckets_.rank()) * shard;
    std::vector<Piece> all;
    for (auto const& part : buckets_.plan(bucket).parts) {
        std::size_t const first = std::max(begin, part.offset);
        std::size_t const end = std::min(begin + shard, part.offset + part.count);
        if (first < end)
            all.push_back({part.tensor, first - part.offset, first - begin, end - first});
    }
    return all;
}

/// Reads this rank's parameters. A master is kept while it gives the parameter when it is rounded.
void ShardedOptimizer::State::load_parameters(Piece const& piece, std::span<float> values,
                                              bool are_masters) const {
    Buffer const& elements = parameters_[piece.tensor].elements;
    std::byte const* const stored = element_at(elements, piece.first);
    float* const kept = values.data() + piece.place;
    if (!are_masters) return sgd::convert(kept, f32, stored, elements.type, piece.count, 1);
    std::vector<std::uint16_t> rounded(piece.count), now(piece.count);
    sgd::convert(rounded.data(), elements.type, kept, f32, piece.count, 1);
    std::memcpy(now.data(), stored, piece.count * sizeof(std::uint16_t));
    for (std::size_t i = 0; i < piece.count; ++i)
        if (rounded[i] != now[i]) sgd::convert(kept + i, f32, &now[i], elements.type, 1, 1);
}

void ShardedOptimizer::State::update(std::size_t bucket, double scale) {
    sgd::BucketReduction& reduction = buckets_.reduction(bucket);
    auto const sums = reduction.sums();
    sgd::convert(sums.data(), f32, sums.data(), f32, sums.size(), scale);
    Kept& kept = kept_[bucket];
    bool const has_masters = !kept.masters.empty();
    std::span<float> const values =
        has_masters ? std::span(kept.masters) : std::span(parameters_in_f32_).first(sums.size());
    if (!has_masters) std::fill(values.begin(), values.end(), 0.0f);  // between tensors
    std::vector<std::span<float>> states(kept.states.size());
    for (Piece const& piece : pieces(bucket)) {
        load_parameters(piece, values, has_masters);
        for (std::size_t k = 0; k < states.size(); ++k)
            states[k] = std::span(kept.states[k]).subspan(piece.place, piece.count);
        sgd::apply_rule(rule_, {.tensor = piece.tensor,
                                .first = piece.first,
                                .step = step_,
                                .parameters = values.subspan(piece.place, piece.count),
                                .gradient = sums.subspan(piece.place, piece.count),
                                .states = states});
    }
    DataType const type = reduction.gathered_type();
    std::size_t const begin = static_cast<std::size_t>(buckets_.rank()) * values.size();
    sgd::convert(reduction.gathered() + begin * type.size(), type, values.data(), f32,
                 values.size(), 1);
}

void ShardedOptimizer::State::store(std::size_t bucket) {
    sgd::BucketReduction const& reduction = buckets_.reduction(bucket);
    DataType const type = reduction.gathered_type();
    for (auto const& part : buckets_.plan(bucket).parts) {
        Buffer const& elements = parameters_[part.tensor].elements;
        sgd::convert(elements.data, elements.type, reduction.gathered() + part.offset * type.size(),
                     type, part.count, 1);
    }
}

double* ShardedOptimizer::State::learning_rate() {
    if (auto* const sgd = std::get_if<Sgd>(&rule_)) return &sgd->learning_rate;
    if (auto* const adam = std::get_if<Adam>(&rule_)) return &adam->learning_rate;
    return nullptr;
}

void ShardedOptimizer::State::set_learning_rate(double rate) {
    if (!std::isfinite(rate) || rate < 0)
        throw UsageError(
            text("ShardedOptimizer::set_learning_rate: ", rate, " (must be 0 or positive)"));
    if (learning_rate() == nullptr)
        throw UsageError(
            "ShardedOptimizer::set_learning_rate: a CustomUpdate has a learning rate of "
            "its own. Change what its function uses");
    *learning_rate() = rate;
}

template <class Visit>
void ShardedOptimizer::State::for_each_kept(Visit const& visit) {
    for (Kept& kept : kept_) {
        for (auto& state : kept.states) visit(std::span(state));
        visit(std::span(kept.masters));
    }
}

std::size_t ShardedOptimizer::State::state_elements() const {
    std::size_t all = 0;
    for (Kept const& kept : kept_) {
        for (auto const& state : kept.states) all += state.size();
        all += kept.masters.size();
    }
    return all;
}

std::vector<std::byte> ShardedOptimizer::State::save() {
    std::vector<float> floats;
    for_each_kept(
        [&](std::span<float> kept) { floats.insert(floats.end(), kept.begin(), kept.end()); });
    auto const residuals = buckets_.residuals();
    floats.insert(floats.end(), residuals.begin(), residuals.end());
    double const* const rate = learning_rate();
    Header const header{step_, floats.size(), rate != nullptr ? *rate : 0};
    std::vector<std::byte> bytes(sizeof header + floats.size() * sizeof(float));
    std::memcpy(bytes.data(), &header, sizeof header);
    if (!floats.empty())
        std::memcpy(bytes.data() + sizeof header, floats.data(), floats.size() * sizeof(float));
    return bytes;
}

void ShardedOptimizer::State::restore(std::span<std::byte const> bytes) {
    std::size_t const residuals = buckets_.residuals().size();
    std::size_t const count = state_elements() + residuals;
    Header header{};
    if (bytes.size() >= sizeof header) std::memcpy(&header, bytes.data(), sizeof header);
    if (bytes.size() != sizeof header + count * sizeof(float) || header.floats != count)
        throw UsageError(
            text("ShardedOptimizer::restore_state: ", bytes.size(),
                 " bytes (this rank's "
                 "state has ",
                 sizeof header + count * sizeof(float),
                 "). Restore that of the same rank of as many, with equal tensors, rule "
                 "and options"));
    std::vector<float> floats(count);
    if (count > 0) std::memcpy(floats.data(), bytes.data() + sizeof header, count * sizeof(float));
    std::span<float const> rest(floats);
    for_each_kept([&](std::span<float> kept) {
        std::copy_n(rest.begin(), kept.size(), kept.begin());
        rest = rest.subspan(kept.size());
    });
    buckets_.restore_residuals(rest);
    step_ = header.step;
    if (double* const rate = learning_rate()) *rate = header.learning_rate;
}

}  // namespace sinew
