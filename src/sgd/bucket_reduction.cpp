// SPDX-License-Identifier: Apache-2.0
#include "src/sgd/bucket_reduction.hpp"

#include <algorithm>
#include <array>
#include <span>

#include "collectives/reducer.hpp"
#include "src/sgd/coding/block_coding.hpp"
#include "src/sgd/coding/conversion.hpp"

namespace sinew::sgd {

namespace {

bool is_quantised(WireFormat wire) { return wire == WireFormat::fp8 || wire == WireFormat::int8; }

BlockCoding const& coding_of(WireFormat wire) {
    return wire == WireFormat::fp8 ? fp8_coding : int8_coding;
}

}  // namespace

BucketReduction::BucketReduction(Communicator& comm, BucketPlan const& plan,
                                 GradientOptions const& options, bool sharded)
    : comm_(comm), type_(plan.type), count_(plan.count), wire_(options.wire),
      algorithm_(options.algorithm), timeout_(options.timeout),
      ranks_(static_cast<std::size_t>(comm.size())), sharded_(sharded) {
    bool const quantised = is_quantised(wire_);
    by_shards_ = quantised || sharded_ || (wire_ != WireFormat::native && comm.nodes().nodes() > 1);
    std::size_t stored = count_;
    if (by_shards_) {
        std::size_t const blocks = (count_ + block_elements - 1) / block_elements;
        shard_ = (blocks + ranks_ - 1) / ranks_ * block_elements;
        stored = shard_ * ranks_;
        std::size_t const row =
            quantised ? BlockCoding::row_bytes(shard_ / block_elements) : shard_ * type_.size();
        if (quantised) sent_ = comm_.allocate<std::byte>(row * ranks_);
        bool const exchanges = wire_ != WireFormat::native;
        received_ = comm_.allocate<std::byte>(exchanges ? row * ranks_ : row);
        sums_.resize(shard_);
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
    std::size_t end = 0;
    for (BucketPlan::Part const& part : plan.parts) {
        if (part.offset > end) gaps_.push_back({end, part.offset});
        end = part.offset + part.count;
    }
    if (stored > end) gaps_.push_back({end, stored});
    if (quantised && options.error_feedback) {
        residual_.resize(stored);
        if (!sharded_) sum_residual_.resize(shard_);  // otherwise the sums are not rounded
    }
}

std::size_t BucketReduction::restore(std::span<float const> values) {
    std::size_t taken = 0;
    for (auto* const kept :
         {&residual_, &sum_residual_, &low_rank_.residual(), &low_rank_.factors()}) {
        std::copy_n(values.begin() + static_cast<std::ptrdiff_t>(taken), kept->size(),
                    kept->begin());
        taken += kept->size();
    }
    return taken;
}

CallOptions BucketReduction::call(bool native) const {
    return {.algorithm = native ? std::string_view(algorithm_) : std::string_view(),
            .timeout = timeout_};
}

void BucketReduction::reduce(bool contributes) {
    if (count_ == 0) return;
    if (low_rank_.compresses())
        return low_rank_.reduce(comm_, static_cast<float*>(elements()), contributes, call(true));
    if (is_quantised(wire_)) reduce_blocks(contributes);
    else if (sharded_ && wire_ == WireFormat::native) reduce_scatter();
    else if (by_shards_) reduce_halves();
    else comm_.allreduce(Buffer(elements(), count_, type_), sum, call(wire_ == WireFormat::native));
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

void BucketReduction::reduce_blocks(bool contributes) {
    BlockCoding const& coding = coding_of(wire_);
    std::size_t const blocks = shard_ / block_elements;
    std::size_t const row = BlockCoding::row_bytes(blocks);
    auto* const values = reinterpret_cast<float*>(elements_.data());
    Buffer const sent(sent_.data(), row * ranks_, DataType::Kind::u8);
    for (std::size_t rank = 0; rank < ranks_; ++rank) {
        float* const residual =
            contributes && !residual_.empty() ? residual_.data() + rank * shard_ : nullptr;
        coding.encode(sent_.data() + rank * row, values + rank * shard_, residual, blocks);
    }
    comm_.alltoall(sent, Buffer(received_.data(), row * ranks_, DataType::Kind::u8), call());
    std::fill(sums_.begin(), sums_.end(), 0.0f);
    for (std::size_t rank = 0; rank < ranks_; ++rank)
        coding.add(sums_.data(), received_.data() + rank * row, blocks);
    if (sharded_) return;
    float* const residual = sum_residual_.empty() ? nullptr : sum_residual_.data();
    std::byte* const own = sent_.data() + static_cast<std::size_t>(comm_.rank()) * row;
    coding.encode(own, sums_.data(), residual, blocks);
    comm_.allgather(sent, call());
    for (std::size_t rank = 0; rank < ranks_; ++rank)
        coding.decode(values + rank * shard_, sent_.data() + rank * row, blocks);
    // A block with NaN has become NaN as a whole, and the next step must not find it in the gaps.
    for (Gap const& gap : gaps_) std::fill(values + gap.begin, values + gap.end, 0.0f);
}

}  // namespace sinew::sgd
