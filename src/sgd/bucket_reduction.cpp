// SPDX-License-Identifier: Apache-2.0
#include "src/sgd/bucket_reduction.hpp"

#include <algorithm>
#include <array>
#include <span>
#include <utility>

#include "collectives/reducer.hpp"
#include "src/base/text.hpp"
#include "src/comm/communicator_state.hpp"
#include "src/sgd/agreement.hpp"
#include "src/sgd/coding/conversion.hpp"

namespace sinew::sgd {

namespace {

/// Between tensors, and after the last one.
std::vector<HostCoder::Gap> gaps_of(BucketPlan const& plan, std::size_t stored) {
    std::vector<HostCoder::Gap> gaps;
    std::size_t end = 0;
    for (BucketPlan::Part const& part : plan.parts) {
        if (part.offset > end) gaps.push_back({end, part.offset});
        end = part.offset + part.count;
    }
    if (stored > end) gaps.push_back({end, stored});
    return gaps;
}

}  // namespace

BucketReduction::BucketReduction(Communicator& comm, BucketPlan const& plan,
                                 GradientOptions const& options, bool sharded, BucketCoder* coder,
                                 std::function<void(bool)> elsewhere)
    : comm_(comm), type_(plan.type), count_(plan.count), wire_(options.wire),
      algorithm_(options.algorithm), timeout_(options.timeout),
      ranks_(static_cast<std::size_t>(comm.size())), sharded_(sharded),
      shape_(plan.count, ranks_, options), elsewhere_(std::move(elsewhere)), coder_(coder) {
    if (elsewhere_) return;
    bool const quantised = shape_.is_quantised();
    by_shards_ = quantised || sharded_ || (wire_ != WireFormat::native && comm.nodes().nodes() > 1);
    std::size_t stored = count_;
    if (by_shards_) {
        shard_ = shape_.part_elements();
        stored = shape_.elements();
        std::size_t const row = quantised ? shape_.row_bytes() : shard_ * type_.size();
        if (quantised) sent_ = comm_.allocate<std::byte>(row * ranks_);
        bool const exchanges = wire_ != WireFormat::native;
        received_ = comm_.allocate<std::byte>(exchanges ? row * ranks_ : row);
        if (!quantised || sharded_) sums_.resize(shard_);
    }
    elements_ = comm_.allocate<std::byte>(stored * type_.size());
    if (sharded_) {
        if (wire_ == WireFormat::native) gathered_type_ = type_;
        if (gathered_type_ != type_)
            gathered_ = comm_.allocate<std::byte>(stored * gathered_type_.size());
    }
    if (options.powersgd_rank > 0 && type_ == DataType::Kind::f32)
        low_rank_ = LowRank(comm_, plan, static_cast<std::size_t>(options.powersgd_rank),
                            options.error_feedback);
    auto* const values = reinterpret_cast<float*>(elements_.data());
    if (quantised && coder_ == nullptr) {
        host_coder_ = std::make_unique<HostCoder>(shape_, gaps_of(plan, stored), values, !sharded_);
        coder_ = host_coder_.get();
    } else if (quantised && options.clip_norm > 0) {
        RowShape only_decoded = shape_;
        only_decoded.error_feedback = false;
        host_coder_ =
            std::make_unique<HostCoder>(only_decoded, gaps_of(plan, stored), values, false);
    }
}

std::vector<float> BucketReduction::kept() const {
    std::vector<float> all;
    if (coder_ != nullptr) all = coder_->residuals();
    for (auto const* part : {&low_rank_.residual(), &low_rank_.factors()})
        all.insert(all.end(), part->begin(), part->end());
    return all;
}

std::size_t BucketReduction::kept_count() const {
    return (coder_ != nullptr ? coder_->residual_count() : 0) + low_rank_.residual().size() +
           low_rank_.factors().size();
}

void BucketReduction::restore(std::span<float const> values) {
    if (coder_ != nullptr) {
        std::size_t const count = coder_->residual_count();
        coder_->restore(values.first(count));
        values = values.subspan(count);
    }
    for (auto* const part : {&low_rank_.residual(), &low_rank_.factors()}) {
        std::copy_n(values.begin(), part->size(), part->begin());
        values = values.subspan(part->size());
    }
}

CallOptions BucketReduction::call(bool native) const {
    return {.algorithm = native ? std::string_view(algorithm_) : std::string_view(),
            .timeout = timeout_};
}

void BucketReduction::reduce(bool contributes, double scale, std::span<InTensor const> in_tensors) {
    if (count_ == 0) return;
    if (scales_sums()) return reduce_parts(scale, in_tensors);
    if (elsewhere_) return elsewhere_(contributes);
    if (low_rank_.compresses())
        return low_rank_.reduce(comm_, static_cast<float*>(elements()), contributes, call(true));
    if (coder_ != nullptr) reduce_blocks(contributes);
    else if (sharded_ && wire_ == WireFormat::native) reduce_scatter();
    else if (by_shards_) reduce_halves();
    else comm_.allreduce(Buffer(elements(), count_, type_), sum, call());
}

void BucketReduction::allreduce(void* elements, std::size_t count, double scale) {
    Buffer const all(elements, count, type_);
    if (scale == 1) return comm_.allreduce(all, sum, call(true));
    comm_.state().run({.collective = Collective::allreduce,
                       .in = all,
                       .out = all,
                       .in_place = true,
                       .op = sum,
                       .factor = scale,
                       .options = call(true)});
}

void BucketReduction::reduce_parts(double scale, std::span<InTensor const> in_tensors) {
    std::size_t done = 0;
    auto const reduce_until = [&](std::size_t end) {
        if (end > done) allreduce(elements_.data() + done * type_.size(), end - done, scale);
    };
    for (InTensor const& part : in_tensors) {
        reduce_until(part.offset);
        allreduce(part.elements, part.count, scale);
        done = part.offset + part.count;
    }
    reduce_until(count_);
}

void BucketReduction::gather() {
    if (count_ == 0) return;
    comm_.allgather(Buffer(gathered(), shard_ * ranks_, gathered_type_), call());
}

void BucketReduction::reduce_scatter() {
    ConstBuffer const all(elements(), shard_ * ranks_, type_);
    comm_.reduce_scatter_block(all, Buffer(received_.data(), shard_, type_), sum, call(true));
    convert(sums_.data(), DataType::Kind::f32, received_.data(), type_, shard_, 1);
}

void BucketReduction::reduce_halves() {
    Buffer const all(elements(), shard_ * ranks_, type_);
    comm_.alltoall(all, Buffer(received_.data(), shard_ * ranks_, type_), call());
    std::size_t const bytes = shard_ * type_.size();
    std::byte* const own = elements_.data() + static_cast<std::size_t>(comm_.rank()) * bytes;
    // In tiles, so that the sums stay in the cache.
    constexpr std::size_t tile = 2048;
    std::array<float, tile> values;
    for (std::size_t first = 0; first < shard_; first += tile) {
        std::size_t const n = std::min(tile, shard_ - first);
        std::span<float> const sums(sums_.data() + first, n);
        for (std::size_t rank = 0; rank < ranks_; ++rank) {
            std::byte const* const from = received_.data() + rank * bytes + first * type_.size();
            collectives::widen(rank == 0 ? sums.data() : values.data(), from, n, type_);
            for (std::size_t i = 0; rank > 0 && i < n; ++i) sums[i] += values[i];
        }
        if (sharded_) continue;
        collectives::narrow(own + first * type_.size(), sums.data(), n, type_);
    }
    if (!sharded_) comm_.allgather(all, call());
}

template <class Call>
void BucketReduction::code(Call const& call) {
    try {
        call();
    } catch (std::exception const& error) {
        comm_.state().abandon(text("its GPU failed: ", error.what()));
        rethrow_with(std::current_exception(), rank_text(comm_, comm_.rank()) + ": ");
    }
}

void BucketReduction::reduce_blocks(bool contributes) {
    Buffer const sent(sent_.data(), shape_.bytes(), DataType::Kind::u8);
    code([&] { coder_->encode(sent_.data(), contributes); });
    comm_.alltoall(sent, Buffer(received_.data(), shape_.bytes(), DataType::Kind::u8), call());
    if (sharded_) return host_coder_->add_up(sums_.data(), received_.data());
    std::byte* const own =
        sent_.data() + static_cast<std::size_t>(comm_.rank()) * shape_.row_bytes();
    code([&] { coder_->sum(own, received_.data()); });
    comm_.allgather(sent, call());
    code([&] { coder_->decode(sent_.data()); });
    if (host_coder_ && coder_ != host_coder_.get()) host_coder_->decode(sent_.data());
}

}  // namespace sinew::sgd
