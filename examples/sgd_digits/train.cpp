// SPDX-License-Identifier: Apache-2.0
#include "examples/sgd_digits/train.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <numeric>
#include <optional>
#include <sinew/error.hpp>
#include <sinew/sgd/gradient_buckets.hpp>
#include <sinew/sgd/local_sgd.hpp>
#include <sinew/sgd/sharded_optimizer.hpp>
#include <sinew/sgd/training_state.hpp>
#include <sinew/world.hpp>
#include <span>
#include <string>

#include "examples/sgd_digits/hash.hpp"
#include "examples/sgd_digits/model.hpp"
#include "examples/sgd_digits/random.hpp"

namespace sgd_digits {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
    return std::chrono::duration<double>(Clock::now() - start).count();
}

/// This rank's contiguous part of `count` items. Part sizes differ by at most one; 0 is possible.
struct Slice {
    std::size_t begin, end;
    Slice(std::size_t count, sinew::Communicator const& comm)
        : begin(edge(count, comm, comm.rank())), end(edge(count, comm, comm.rank() + 1)) {}

    static std::size_t edge(std::size_t count, sinew::Communicator const& comm, int rank) {
        return count * static_cast<std::size_t>(rank) / static_cast<std::size_t>(comm.size());
    }
    std::size_t size() const { return end - begin; }
};

class Trainer {
public:
    Trainer(sinew::Communicator& comm, Dataset const& data, Options const& options,
            Observer const& observer)
        : comm_(comm), data_(data), options_(options), observer_(observer),
          model_(data.train.features, options.hidden), gradient_(model_.parameters().size()),
          order_(data.train.size()) {
        // Rank 0 sets the weights for all, so that all ranks begin equal whatever their seed.
        if (comm_.rank() == 0) model_.initialise(options_.seed);
        if (options_.local_steps > 0) {
            local_.emplace(comm, local_parameters(), local_options());
        } else if (options_.optimizer_sharding) {
            sharded_.emplace(
                comm, parameters(),
                sinew::Sgd{.learning_rate = options_.rate, .momentum = options_.momentum},
                bucket_options());
            sharded_->broadcast_parameters();
        } else {
            buckets_.emplace(comm, gradients(), bucket_options());
            buckets_->broadcast_parameters(std::vector<sinew::Buffer>{model_.parameters()});
        }
        if (!sharded_) velocity_.resize(gradient_.size());
        if (!options_.checkpoint.empty()) resume();
    }

    Result run() {
        for (std::size_t epoch = next_.epoch; epoch <= options_.epochs; ++epoch) {
            Epoch const now{train_epoch(epoch), accuracy()};
            result_.epochs.push_back(now);
            if (observer_.epoch) observer_.epoch(epoch, now);
        }
        result_.seconds = comm_.allreduce_value(result_.seconds, sinew::average);
        result_.allreduce_seconds =
            comm_.allreduce_value(result_.allreduce_seconds, sinew::average);
        result_.parameters.assign(model_.parameters().begin(), model_.parameters().end());
        result_.weights_hash = hash_bytes(std::as_bytes(model_.parameters()));
        if (options_.tune_buckets) result_.tuning = buckets_->tuning().text();
        check_equal_weights();
        return std::move(result_);
    }

private:
    /// Where training continues: the first step that has not been done, and what the steps of its
    /// epoch before that have added up.
    struct Position {
        std::size_t epoch = 1, step = 0;
        double loss = 0;  // of this rank's examples
    };

    /// Continues from the newest checkpoint. The bits are those of a run without an interruption.
    void resume() {
        state_.emplace(comm_, options_.checkpoint);
        if (local_) {  // between two averages each rank has its own
            state_->add_own("parameters", model_.parameters());
            state_->add_own("velocity", velocity_);
            local_->add_to(*state_);
        } else {
            state_->add_shared("parameters", model_.parameters());
            if (!sharded_) state_->add_shared("velocity", velocity_);
        }
        if (sharded_) sharded_->add_to(*state_);
        state_->add_own(
            "position", [this] { return bytes_of(std::span(&next_, 1)); },
            [this](std::span<std::byte const> bytes) { next_ = values_of<Position>(bytes).at(0); });
        state_->add_own(
            "epochs", [this] { return bytes_of(std::span(result_.epochs)); },
            [this](std::span<std::byte const> bytes) { result_.epochs = values_of<Epoch>(bytes); });
        if (buckets_)
            state_->add_own(
                "residuals",
                [this] {
                    auto const residuals = buckets_->residuals();
                    return bytes_of(std::span(residuals));
                },
                [this](std::span<std::byte const> bytes) {
                    buckets_->restore_residuals(values_of<float>(bytes));
                });
        state_->restore();
    }
    template <class T>
    static sinew::TrainingState::Bytes bytes_of(std::span<T> values) {
        auto const bytes = std::as_bytes(values);
        return {bytes.begin(), bytes.end()};
    }
    template <class T>
    static std::vector<T> values_of(std::span<std::byte const> bytes) {
        std::vector<T> values(bytes.size() / sizeof(T));
        if (!values.empty()) std::memcpy(values.data(), bytes.data(), values.size() * sizeof(T));
        return values;
    }

    std::vector<sinew::Gradient> gradients() {
        std::vector<sinew::Gradient> all;
        for (auto const& tensor : model_.tensors())
            all.emplace_back(tensor.name, gradient_of(tensor)).rows = tensor.rows;
        return all;
    }
    std::vector<sinew::Parameter> parameters() {
        std::vector<sinew::Parameter> all;
        for (auto const& tensor : model_.tensors())
            all.emplace_back(tensor.name, elements_of(tensor), gradient_of(tensor));
        return all;
    }
    std::vector<sinew::LocalParameter> local_parameters() {
        std::vector<sinew::LocalParameter> all;
        for (auto const& tensor : model_.tensors())
            all.emplace_back(tensor.name, elements_of(tensor));
        return all;
    }
    std::span<float> gradient_of(Model::Tensor const& tensor) {
        return std::span(gradient_).subspan(tensor.offset, tensor.size);
    }
    std::span<float> elements_of(Model::Tensor const& tensor) {
        return model_.parameters().subspan(tensor.offset, tensor.size);
    }

    /// Gradients are summed, and divided by the true size of the batch in `descend`.
    /// `sinew::average` would divide by the number of ranks, which is the same only if all ranks
    /// have equally many examples. The last batch, or 3 ranks, break this.
    sinew::GradientOptions bucket_options() const {
        return {.bucket_bytes = options_.bucket,
                .first_bucket_bytes = options_.bucket,
                .tune_bucket_bytes = options_.tune_buckets,
                .wire = options_.wire,
                .op = sinew::sum,
                .powersgd_rank = options_.powersgd_rank,
                .clip_norm = options_.clip,
                .algorithm = options_.algorithm};
    }
    sinew::LocalSgdOptions local_options() const {
        return {.period = options_.local_steps,
                .buckets = {.bucket_bytes = options_.bucket,
                            .first_bucket_bytes = options_.bucket,
                            .wire = options_.wire,
                            .algorithm = options_.algorithm}};
    }

    double train_epoch(std::size_t epoch) {
        auto const start = Clock::now();
        // All ranks compute the same permutation from seed and epoch, without a message.
        std::iota(order_.begin(), order_.end(), 0u);
        Random(options_.seed, epoch).shuffle(order_);
        std::size_t const steps = (order_.size() + options_.batch - 1) / options_.batch;
        double loss = next_.loss;
        for (std::size_t step = next_.step; step < steps; ++step) {
            std::size_t const first = step * options_.batch;
            std::size_t const batch = std::min(options_.batch, order_.size() - first);
            loss += train_batch(std::span(order_).subspan(first, batch));
            if (observer_.step) observer_.step(epoch, step + 1, steps);
            next_ = {epoch, step + 1, loss};
            std::size_t const done = (epoch - 1) * steps + step + 1;
            if (state_ && done % options_.checkpoint_every == 0) state_->commit(done);
        }
        if (local_) local_->synchronise();  // so that the test is of one model
        next_ = {epoch + 1, 0, 0};
        result_.steps = epoch * steps;
        loss = comm_.allreduce_value(loss, sinew::sum) / static_cast<double>(order_.size());
        result_.seconds += seconds_since(start);
        if (!std::isfinite(loss))
            throw Diverged("the loss became " + std::to_string(loss) + " in epoch " +
                           std::to_string(epoch) + " (--rate " + std::to_string(options_.rate) +
                           "). Try a smaller --rate.");
        return loss;
    }

    /// Does one step with all ranks. Returns the summed loss of this rank's share.
    double train_batch(std::span<std::uint32_t const> batch) {
        Slice const mine(batch.size(), comm_);
        std::fill(gradient_.begin(), gradient_.end(), 0.0f);
        double const loss =
            model_.add_gradient(data_.train, batch.subspan(mine.begin, mine.size()), gradient_);

        if (local_) {
            if (mine.size() > 0) descend(1.0f / static_cast<float>(mine.size()));
            auto const start = Clock::now();
            local_->step();
            result_.allreduce_seconds += seconds_since(start);
            return loss;
        }
        float scale = 1.0f / static_cast<float>(batch.size());
        // What is clipped or given to the optimiser is the gradient of the mean.
        if (sharded_ || options_.clip > 0) {
            for (float& value : gradient_) value *= scale;
            scale = 1;
        }
        auto const start = Clock::now();
        if (sharded_) {
            for (std::size_t tensor = sharded_->size(); tensor-- > 0;) sharded_->ready(tensor);
            sharded_->step();
        } else {
            for (std::size_t tensor = buckets_->size(); tensor-- > 0;) buckets_->ready(tensor);
            buckets_->finish();
        }
        result_.allreduce_seconds += seconds_since(start);
        if (!sharded_) descend(scale);
        return loss;
    }

    void descend(float scale) {
        auto const parameters = model_.parameters();
        auto const rate = static_cast<float>(options_.rate);
        auto const momentum = static_cast<float>(options_.momentum);
        for (std::size_t i = 0; i < parameters.size(); ++i) {
            velocity_[i] = momentum * velocity_[i] + scale * gradient_[i];
            parameters[i] -= rate * velocity_[i];
        }
    }

    /// Each rank tests a part. Counts are integers, so the sum is exact for any number of ranks.
    double accuracy() {
        Slice const mine(data_.test.size(), comm_);
        std::int64_t right = 0;
        for (std::size_t i = mine.begin; i < mine.end; ++i)
            right += model_.predict(data_.test[i]) == data_.test.labels[i] ? 1 : 0;
        right = comm_.allreduce_value(right, sinew::sum);
        return static_cast<double>(right) / static_cast<double>(data_.test.size());
    }

    /// All ranks took the same steps from the same start, so a difference means a defect.
    void check_equal_weights() {
        auto const least = comm_.allreduce_value(result_.weights_hash, sinew::min);
        auto const most = comm_.allreduce_value(result_.weights_hash, sinew::max);
        if (least != most)
            throw sinew::Error("rank " + std::to_string(comm_.rank()) + " of " +
                               std::to_string(comm_.size()) + ": weights differ between ranks (" +
                               hash_text(result_.weights_hash) + " here, " + hash_text(least) +
                               " to " + hash_text(most) +
                               " elsewhere). Are all ranks the same build on the same kind of "
                               "processor?");
    }

    sinew::Communicator& comm_;
    Dataset const& data_;
    Options const& options_;
    Observer const& observer_;
    Model model_;
    std::vector<float> gradient_;
    std::vector<float> velocity_;
    // One of these three.
    std::optional<sinew::GradientBuckets> buckets_;
    std::optional<sinew::ShardedOptimizer> sharded_;
    std::optional<sinew::LocalSgd> local_;
    std::optional<sinew::TrainingState> state_;
    Position next_;
    std::vector<std::uint32_t> order_;
    Result result_;
};

}  // namespace

Result train(sinew::Communicator& comm, Dataset const& data, Options const& options,
             Observer const& observer) {
    if (data.train.size() == 0 || data.test.size() == 0)
        throw sinew::UsageError(std::to_string(data.train.size()) + " examples to train, " +
                                std::to_string(data.test.size()) +
                                " to test (expected at least one of each).");
    return Trainer(comm, data, options, observer).run();
}

}  // namespace sgd_digits
