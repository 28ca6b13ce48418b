// SPDX-License-Identifier: Apache-2.0
// examples/sgd_digits trains on a GPU as on the host.
#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <sinew/error.hpp>

#include "examples/sgd_digits/device_learner.hpp"
#include "examples/sgd_digits/synthetic.hpp"
#include "examples/sgd_digits/train.hpp"
#include "tests/comm/ranks.hpp"
#include "tests/examples/host_gpu.hpp"
#include "tests/fake_gpu/device_tensors.hpp"
#include "tests/support/temp_folder.hpp"

namespace sinew::tests {
namespace {

using sgd_digits::Dataset;
using sgd_digits::Options;
using sgd_digits::Result;

template <class T>
void use_shadow(T*& pointer) {
    if (pointer != nullptr) pointer = static_cast<T*>(fake_cuda_shadow(pointer));
}
void use_shadow(sgd_digits::Rows& rows) {
    use_shadow(rows.first);
    use_shadow(rows.which);
}

/// Gives a stream of the fake driver the work, which it finds in the shadows of its memory.
class FakeGpu final : public sgd_digits::Gpu {
public:
    std::string name() const override { return "a fake"; }
    void* stream() const override { return stream_; }
    void* allocate(std::size_t bytes) override {
        unsigned long long memory = 0;
        if (cuMemAlloc_v2(&memory, bytes + 1) != 0) throw sgd_digits::GpuError("cuMemAlloc");
        return reinterpret_cast<void*>(memory);
    }
    void release(void* memory) noexcept override {
        cuMemFree_v2(reinterpret_cast<unsigned long long>(memory));
    }
    void copy_to_gpu(void* to, void const* from, std::size_t bytes) override {
        stream_.synchronize();
        std::memcpy(fake_cuda_shadow(to), from, bytes);
    }
    void copy_to_host(void* to, void const* from, std::size_t bytes) const override {
        stream_.synchronize();
        std::memcpy(to, fake_cuda_shadow(from), bytes);
    }
    void run(sgd_digits::LayerOutputs const& work) override {
        auto shadow = work;
        use_shadow(shadow.inputs);
        use_shadow(shadow.parameters);
        use_shadow(shadow.outputs);
        enqueue(shadow);
    }
    void run(sgd_digits::SoftmaxLoss const& work) override {
        auto shadow = work;
        use_shadow(shadow.scores);
        use_shadow(shadow.labels);
        use_shadow(shadow.which);
        use_shadow(shadow.slopes);
        use_shadow(shadow.losses);
        enqueue(shadow);
    }
    void run(sgd_digits::InputSlopes const& work) override {
        auto shadow = work;
        use_shadow(shadow.inputs);
        use_shadow(shadow.parameters);
        use_shadow(shadow.slopes);
        use_shadow(shadow.input_slopes);
        enqueue(shadow);
    }
    void run(sgd_digits::ParameterSlopes const& work) override {
        auto shadow = work;
        use_shadow(shadow.inputs);
        use_shadow(shadow.slopes);
        use_shadow(shadow.gradient);
        enqueue(shadow);
    }
    void run(sgd_digits::BestClass const& work) override {
        auto shadow = work;
        use_shadow(shadow.scores);
        use_shadow(shadow.best);
        enqueue(shadow);
    }

private:
    template <class Work>
    void enqueue(Work const& work) {
        fake_cuda_enqueue(
            stream_, [](void* call) { sgd_digits::run_on_host(*static_cast<Work*>(call)); },
            new Work(work), [](void* call) { delete static_cast<Work*>(call); });
    }
    DeviceStream stream_;
};

Dataset const& digits() {
    static auto const data = sgd_digits::synthetic_digits(1, {.train = 503, .test = 200});
    return data;
}

std::vector<Result> train_on_host(int ranks, Options const& options) {
    std::vector<Result> results(static_cast<std::size_t>(ranks));
    run_thread_ranks(ranks, [&](Communicator& comm) {
        results[static_cast<std::size_t>(comm.rank())] = train(comm, digits(), options);
    });
    return results;
}

std::vector<Result> train_on_device(int ranks, Options options, Dataset const& data = digits()) {
    options.device = true;
    std::vector<Result> results(static_cast<std::size_t>(ranks));
    run_thread_ranks(ranks, [&](Communicator& comm) {
        fake_cuda_use_device(comm.rank());
        FakeGpu gpu;
        sgd_digits::DeviceLearner learner(comm, data, options, gpu);
        results[static_cast<std::size_t>(comm.rank())] = train(comm, data, options, {}, learner);
    });
    return results;
}

float largest_difference(std::vector<float> const& a, std::vector<float> const& b) {
    float largest = a.size() == b.size() ? 0.0f : INFINITY;
    for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i)
        largest = std::max(largest, std::abs(a[i] - b[i]));
    return largest;
}

bool can_train() {
    use_fake_kernels();
    return has_kernels();
}

// Batches of 50 divide unevenly over 3 ranks, and the last one of 3 leaves rank 0 of 4 without work.
TEST(DigitsOnDevice, LearnWhatTheHostLearns) {
    if (!can_train()) GTEST_SKIP() << "built without kernels for GPUs";
    for (int const ranks : {1, 2, 3, 4})
        for (std::size_t const hidden : {0, 16})
            for (double const clip : {0.0, 0.5}) {
                Options const options{.hidden = hidden,
                                      .epochs = 2,
                                      .batch = 50,
                                      .rate = 0.1,
                                      .bucket = 4096,
                                      .clip = clip};
                auto const expected = train_on_host(ranks, options).front();
                auto const got = train_on_device(ranks, options);
                std::string const what = std::to_string(ranks) + " ranks, " +
                                         std::to_string(hidden) + " hidden, clip " +
                                         std::to_string(clip);
                for (auto const& result : got) {
                    EXPECT_LT(largest_difference(result.parameters, expected.parameters), 2e-4f)
                        << what;
                    EXPECT_EQ(result.weights_hash, got.front().weights_hash) << what;
                    EXPECT_EQ(result.gpus, std::vector<std::string>(got.size(), "a fake"));
                    EXPECT_NEAR(result.epochs[1].loss, expected.epochs[1].loss, 1e-4) << what;
                    EXPECT_NEAR(result.epochs[1].accuracy, expected.epochs[1].accuracy, 1.01 / 200)
                        << what;
                }
            }
}

// A batch of 1 leaves all ranks but one without work.
TEST(DigitsOnDevice, RanksMayOutnumberTheBatch) {
    if (!can_train()) GTEST_SKIP() << "built without kernels for GPUs";
    Options const options{.hidden = 0, .epochs = 1, .batch = 1, .rate = 0.01};
    EXPECT_LT(largest_difference(train_on_device(3, options).back().parameters,
                                 train_on_host(1, options).front().parameters),
              1e-4f);
}

TEST(DigitsOnDevice, TakeAllWireFormatsAndGiveTheSameBitsAgain) {
    if (!can_train()) GTEST_SKIP() << "built without kernels for GPUs";
    for (auto const wire :
         {WireFormat::native, WireFormat::bf16, WireFormat::f16, WireFormat::fp8, WireFormat::int8})
        for (double const clip : {0.0, 1.0}) {
            Options const options{
                .hidden = 16, .epochs = 3, .wire = wire, .bucket = 4096, .clip = clip};
            auto const first = train_on_device(3, options), again = train_on_device(3, options);
            for (std::size_t rank = 0; rank < first.size(); ++rank) {
                EXPECT_EQ(first[rank].weights_hash, first[0].weights_hash) << name(wire);
                EXPECT_EQ(again[rank].weights_hash, first[0].weights_hash) << name(wire);
            }
            double const host = train_on_host(3, options).front().epochs.back().loss;
            EXPECT_NEAR(first.front().epochs.back().loss, host, 0.05 * host) << name(wire);
        }
}

TEST(DigitsOnDevice, ContinueFromACheckpointWithTheSameBits) {
    if (!can_train()) GTEST_SKIP() << "built without kernels for GPUs";
    for (auto const wire : {WireFormat::native, WireFormat::int8}) {
        sinew::testing_support::TempFolder const folder;
        Options options{.hidden = 16, .epochs = 3, .wire = wire, .bucket = 4096};
        auto const whole = train_on_device(2, options).front();
        options.checkpoint = (folder.path() / "state").string();
        options.checkpoint_every = 5;
        options.epochs = 2;
        auto const begun = train_on_device(2, options).front();
        options.epochs = 3;
        auto const continued = train_on_device(2, options);
        EXPECT_NE(begun.weights_hash, whole.weights_hash);
        for (auto const& result : continued) EXPECT_EQ(result.weights_hash, whole.weights_hash);
        EXPECT_EQ(continued.front().epochs.size(), 3u);
        options.hidden = 8;  // another model
        EXPECT_THROW(train_on_device(2, options), UsageError);
    }
}

TEST(DigitsOnDevice, SayThatTheyDiverged) {
    if (!can_train()) GTEST_SKIP() << "built without kernels for GPUs";
    Dataset wild = digits();
    for (float& pixel : wild.train.pixels) pixel *= 1e30f;
    EXPECT_THROW(train_on_device(2, {.epochs = 3, .rate = 1000}, wild), sgd_digits::Diverged);
}

}  // namespace
}  // namespace sinew::tests
