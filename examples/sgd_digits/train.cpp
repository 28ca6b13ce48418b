// SPDX-License-Identifier: Apache-2.0
#include "examples/sgd_digits/train.hpp"

#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>
#include <optional>
#include <sinew/error.hpp>
#include <sinew/sgd/training_state.hpp>
#include <span>
#include <string>

#include "examples/sgd_digits/bytes.hpp"
#include "examples/sgd_digits/clock.hpp"
#include "examples/sgd_digits/device_learner.hpp"
#include "examples/sgd_digits/gpu.hpp"
#include "examples/sgd_digits/hash.hpp"
#include "examples/sgd_digits/host_learner.hpp"
#include "examples/sgd_digits/on_all_ranks.hpp"
#include "examples/sgd_digits/random.hpp"
#include "examples/sgd_digits/slice.hpp"

namespace sgd_digits {
namespace {

/// The text of each rank. Collective.
std::vector<std::string> of_all_ranks(sinew::Communicator& comm, std::string const& text) {
    constexpr std::size_t room = 256;
    std::vector<std::uint8_t> own(room), all(room * static_cast<std::size_t>(comm.size()));
    std::copy_n(text.begin(), std::min(text.size(), room - 1), own.begin());
    comm.allgather(own, all);
    std::vector<std::string> texts;
    for (std::size_t at = 0; at < all.size(); at += room)
        texts.emplace_back(reinterpret_cast<char const*>(all.data() + at));
    return texts;
}

class Trainer {
public:
    Trainer(sinew::Communicator& comm, Dataset const& data, Options const& options,
            Observer const& observer, Learner& learner)
        : comm_(comm), data_(data), options_(options), observer_(observer), learner_(learner),
          order_(data.train.size()) {
        if (options_.device) result_.gpus = of_all_ranks(comm_, learner_.gpu());
        if (observer_.gpus && !result_.gpus.empty()) observer_.gpus(result_.gpus);
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
            comm_.allreduce_value(learner_.allreduce_seconds(), sinew::average);
        result_.parameters = learner_.parameters();
        result_.weights_hash = hash_bytes(std::as_bytes(std::span(result_.parameters)));
        result_.tuning = learner_.tuning();
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
        learner_.add_to(*state_);
        state_->add_own(
            "position", [this] { return bytes_of(std::span(&next_, 1)); },
            [this](std::span<std::byte const> bytes) { next_ = values_of<Position>(bytes).at(0); });
        state_->add_own(
            "epochs", [this] { return bytes_of(std::span(result_.epochs)); },
            [this](std::span<std::byte const> bytes) { result_.epochs = values_of<Epoch>(bytes); });
        state_->restore();
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
            loss += learner_.train_batch(std::span(order_).subspan(first, batch));
            if (observer_.step) observer_.step(epoch, step + 1, steps);
            next_ = {epoch, step + 1, loss};
            std::size_t const done = (epoch - 1) * steps + step + 1;
            if (state_ && done % options_.checkpoint_every == 0) state_->commit(done);
        }
        learner_.end_epoch();
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

    /// Each rank tests a part. Counts are integers, so the sum is exact for any number of ranks.
    double accuracy() {
        Slice const mine(data_.test.size(), comm_);
        auto const right = comm_.allreduce_value(
            static_cast<std::int64_t>(learner_.count_right(mine.begin, mine.end)), sinew::sum);
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
    Learner& learner_;
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
    if (!options.device) {
        HostLearner learner(comm, data, options);
        return train(comm, data, options, observer, learner);
    }
    std::unique_ptr<Gpu> gpu;
    on_all_ranks(comm, [&] { gpu = open_gpu(comm.nodes().local_rank); });
    DeviceLearner learner(comm, data, options, *gpu);
    return train(comm, data, options, observer, learner);
}

Result train(sinew::Communicator& comm, Dataset const& data, Options const& options,
             Observer const& observer, Learner& learner) {
    return Trainer(comm, data, options, observer, learner).run();
}

}  // namespace sgd_digits
