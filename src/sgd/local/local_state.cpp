// SPDX-License-Identifier: Apache-2.0
#include "src/sgd/local/local_state.hpp"

#include <bit>
#include <cmath>
#include <cstring>
#include <utility>

#include "src/base/text.hpp"
#include "src/sgd/coding/conversion.hpp"
#include "src/sgd/content_hash.hpp"

namespace sinew {

namespace {

/// The type in which changes are computed and sent.
DataType kept_type(DataType type) {
    return type == DataType::Kind::f64 ? DataType::Kind::f64 : DataType::Kind::f32;
}

template <class Float>
constexpr DataType type_of_kept = data_type_of<Float>();

}  // namespace

LocalSgd::State::State(Communicator& comm, std::vector<LocalParameter> parameters,
                       LocalSgdOptions options)
    : parameters_(std::move(parameters)), options_(std::move(options)),
      buckets_(comm, changes(), options_.buckets,
               {.check = [this] { check(); }, .options_hash = options_hash()}) {
    start();
}

/// Called by the constructor of the buckets, which tells the other ranks of an error.
void LocalSgd::State::check() const {
    if (options_.period == 0) throw UsageError("LocalSgdOptions: period 0 (must be positive)");
    if (!(options_.outer_momentum >= 0 && options_.outer_momentum < 1))
        throw UsageError(text("LocalSgdOptions: outer_momentum ", options_.outer_momentum,
                              " (must be from 0 to below 1)"));
    if (!std::isfinite(options_.outer_learning_rate) || options_.outer_learning_rate <= 0)
        throw UsageError(text("LocalSgdOptions: outer_learning_rate ", options_.outer_learning_rate,
                              " (must be positive)"));
    if (options_.nesterov && options_.outer_momentum == 0)
        throw UsageError("LocalSgdOptions: outer_momentum 0 (must be positive with nesterov)");
    if (options_.buckets.op.kind() != ReduceOp::Kind::average)
        throw UsageError(
            text("LocalSgdOptions: op ", options_.buckets.op.name(), " (must be average)"));
    if (options_.buckets.powersgd_rank > 0)
        throw UsageError(text("LocalSgdOptions: powersgd_rank ", options_.buckets.powersgd_rank,
                              " (must be 0: the tensors have no rows)"));
    for (LocalParameter const& parameter : parameters_) {
        Buffer const& elements = parameter.elements;
        if (!elements.type.is_floating() || elements.type.is_complex())
            throw UsageError(text("parameter '", parameter.name, "' has type ",
                                  elements.type.name(), " (must be f16, bf16, f32 or f64)"));
        if (elements.data == nullptr && elements.count > 0)
            throw UsageError(text("parameter '", parameter.name, "' has ", elements.count,
                                  " elements at address null"));
    }
}

std::uint64_t LocalSgd::State::options_hash() const {
    sgd::ContentHash hash;
    hash.add(std::uint64_t{options_.period})
        .add(std::uint64_t{options_.warm_up})
        .add(std::bit_cast<std::uint64_t>(options_.outer_momentum))
        .add(std::bit_cast<std::uint64_t>(options_.outer_learning_rate))
        .add(std::uint64_t{options_.nesterov});
    for (LocalParameter const& parameter : parameters_)
        hash.add(static_cast<std::uint64_t>(parameter.elements.type.kind()));
    return hash.value();
}

std::vector<Gradient> LocalSgd::State::changes() const {
    std::vector<Gradient> all;
    for (LocalParameter const& parameter : parameters_)
        all.push_back(Gradient::allocate(parameter.name, parameter.elements.count,
                                         kept_type(parameter.elements.type)));
    return all;
}

void LocalSgd::State::start() {
    std::vector<Buffer> elements;
    for (LocalParameter const& parameter : parameters_) {
        elements.push_back(parameter.elements);
        if (kept_type(parameter.elements.type) == DataType::Kind::f64)
            kept_.emplace_back(Kept<double>());
        else kept_.emplace_back(Kept<float>());
    }
    buckets_.broadcast_parameters(elements, 0);
    for_each_tensor([&]<class Float>(std::size_t tensor, Kept<Float>& kept) {
        Buffer const& from = elements[tensor];
        kept.anchor.resize(from.count);
        if (options_.outer_momentum > 0) kept.momentum.resize(from.count);
        sgd::convert(kept.anchor.data(), type_of_kept<Float>, from.data, from.type, from.count, 1);
    });
}

template <class Visit>
void LocalSgd::State::for_each_tensor(Visit const& visit) {
    for (std::size_t i = 0; i < kept_.size(); ++i)
        std::visit([&](auto& kept) { visit(i, kept); }, kept_[i]);
}

/// The change is counted from the parameters that the anchor gave, which may be of 16 bits.
template <class Float>
void LocalSgd::State::compute_change(std::size_t tensor, Kept<Float> const& kept) {
    constexpr DataType type = type_of_kept<Float>;
    Buffer const& now = parameters_[tensor].elements;
    auto* const change = static_cast<Float*>(buckets_.allocated(tensor, type).data);
    std::vector<Float> given;
    if (now.type.is_16_bit_float()) {
        std::vector<std::uint16_t> rounded(now.count);
        given.resize(now.count);
        sgd::convert(rounded.data(), now.type, kept.anchor.data(), type, now.count, 1);
        sgd::convert(given.data(), type, rounded.data(), now.type, now.count, 1);
    }
    Float const* const before = given.empty() ? kept.anchor.data() : given.data();
    sgd::convert(change, type, now.data, now.type, now.count, 1);
    for (std::size_t i = 0; i < now.count; ++i) change[i] = before[i] - change[i];
}

template <class Float>
void LocalSgd::State::move_anchor(std::size_t tensor, Kept<Float>& kept) {
    constexpr DataType type = type_of_kept<Float>;
    auto const* const mean = static_cast<Float const*>(buckets_.allocated(tensor, type).data);
    auto const rate = static_cast<Float>(options_.outer_learning_rate);
    auto const momentum = static_cast<Float>(options_.outer_momentum);
    for (std::size_t i = 0; i < kept.anchor.size(); ++i) {
        Float direction = mean[i];
        if (!kept.momentum.empty()) {
            kept.momentum[i] = momentum * kept.momentum[i] + mean[i];
            direction =
                options_.nesterov ? mean[i] + momentum * kept.momentum[i] : kept.momentum[i];
        }
        kept.anchor[i] -= rate * direction;
    }
    Buffer const& to = parameters_[tensor].elements;
    sgd::convert(to.data, to.type, kept.anchor.data(), type, to.count, 1);
}

bool LocalSgd::State::step() {
    ++counts_[0];
    ++counts_[1];
    if (counts_[0] > options_.warm_up && counts_[1] < options_.period) return false;
    synchronise();
    return true;
}

void LocalSgd::State::synchronise() {
    counts_[1] = 0;
    for (std::size_t i = kept_.size(); i-- > 0;) {  // in the order of the buckets
        std::visit([&](auto const& kept) { compute_change(i, kept); }, kept_[i]);
        buckets_.ready(i);
    }
    buckets_.finish();
    for_each_tensor([&](std::size_t tensor, auto& kept) { move_anchor(tensor, kept); });
}

void LocalSgd::State::add_to(TrainingState& training, std::string const& name) {
    training.add_shared(name + "/counts", counts_);
    for_each_tensor([&](std::size_t tensor, auto& kept) {
        training.add_shared(text(name, "/anchor/", tensor), kept.anchor);
        if (!kept.momentum.empty())
            training.add_shared(text(name, "/momentum/", tensor), kept.momentum);
    });
    if (buckets_.residuals().empty()) return;
    training.add_own(
        name + "/residuals",
        [this] {
            auto const residuals = buckets_.residuals();
            auto const bytes = std::as_bytes(std::span(residuals));
            return TrainingState::Bytes(bytes.begin(), bytes.end());
        },
        [this](std::span<std::byte const> bytes) {
            std::vector<float> residuals(bytes.size() / sizeof(float));
            if (!residuals.empty())
                std::memcpy(residuals.data(), bytes.data(), residuals.size() * sizeof(float));
            buckets_.restore_residuals(residuals);
        });
}

}  // namespace sinew
