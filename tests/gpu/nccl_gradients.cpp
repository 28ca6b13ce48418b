// SPDX-License-Identifier: Apache-2.0
// GradientBuckets and DeviceSgd of two or three ranks on one GPU, summed through NCCL, give what buckets in host
// memory give.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <deque>
#include <string>
#include <vector>

#include <sinew/error.hpp>
#include <sinew/sgd/device_sgd.hpp>
#include <sinew/world.hpp>

#include "tests/gpu/gpu_or_skip.hpp"
#include "tests/gpu/nccl_on_one_gpu.hpp"
#include "tests/sgd/training.hpp"

namespace {

using sinew::Buffer;
using sinew::Communicator;
using sinew::GradientBuckets;
using sinew::GradientOptions;
using sinew::WireFormat;
using sinew::tests::all_ready;
using sinew::tests::expect;
using sinew::tests::OnDevice;
using sinew::tests::ready_from_threads;
using sinew::tests::Tensors;

/// Many tensors, in buckets of 1 MiB.
Tensors tensors_of(int rank, int step, bool integers) {
    Tensors tensors(11, rank, step, 40, 60'000);
    for (auto& values : tensors.values)
        for (float& value : values)
            if (integers) value = std::clamp(std::round(8 * value), -16.0F, 16.0F);
    return tensors;
}

GradientOptions options_of(WireFormat wire) {
    GradientOptions options;
    options.bucket_bytes = 1 << 20;
    options.first_bucket_bytes = 1 << 17;
    options.wire = wire;
    return options;
}

/// Tensors on the GPU, which a stream fills.
class Gradients {
public:
    explicit Gradients(Tensors const& tensors) {
        cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking);
        for (auto const& values : tensors.values) arrays_.emplace_back(values);
    }
    Gradients(Gradients const&) = delete;
    ~Gradients() { cudaStreamDestroy(stream_); }

    cudaStream_t stream() const { return stream_; }
    Buffer elements(std::size_t i) const { return arrays_[i].span(); }
    std::vector<sinew::Gradient> registered() const {
        std::vector<sinew::Gradient> all;
        for (std::size_t i = 0; i < arrays_.size(); ++i)
            all.emplace_back("tensor" + std::to_string(i), elements(i));
        return all;
    }
    /// Enqueues new values. The tensors must live until the stream has read them.
    void enqueue(Tensors const& tensors) {
        for (std::size_t i = 0; i < arrays_.size(); ++i)
            if (!tensors.values[i].empty())
                cudaMemcpyAsync(elements(i).data, tensors.values[i].data(), elements(i).bytes(),
                                cudaMemcpyDefault, stream_);
    }
    double largest_difference(Tensors const& expected) const {
        double largest = 0;
        for (std::size_t i = 0; i < arrays_.size(); ++i) {
            auto const got = arrays_[i].values();
            for (std::size_t k = 0; k < got.size(); ++k) {
                double const apart = std::abs(double{got[k]} - double{expected.values[i][k]});
                if (!(apart <= largest)) largest = apart;  // also NaN
            }
        }
        return largest;
    }

private:
    cudaStream_t stream_ = nullptr;
    std::deque<OnDevice<float>> arrays_;
};

bool steps_are_near(Communicator& comm, GradientOptions options, bool integers, double limit,
                    std::string const& what) {
    Tensors host = tensors_of(comm.rank(), 0, integers);
    Gradients device(host);
    GradientBuckets on_host(comm, host.registered(), options);
    options.stream = device.stream();
    GradientBuckets on_device(comm, device.registered(), options);
    bool good = on_device.buckets() > 1;
    double worst = 0, norms_apart = 0;
    for (int step = 0; step < 4; ++step) {
        Tensors const next = tensors_of(comm.rank(), step, integers);
        for (std::size_t i = 0; i < next.values.size(); ++i)
            std::copy(next.values[i].begin(), next.values[i].end(), host.values[i].begin());
        all_ready(on_host);
        double const norm = on_host.finish().norm;
        device.enqueue(next);
        ready_from_threads(on_device, static_cast<unsigned>(step + comm.rank()));
        double const got = on_device.finish().norm;
        worst = std::max(worst, device.largest_difference(host));
        if (norm > 0) norms_apart = std::max(norms_apart, std::abs(got - norm) / norm);
    }
    good &= worst <= limit && norms_apart <= (integers ? 0 : 1e-2);
    good &= on_device.residuals() == on_host.residuals();
    return expect(good, what + " (largest difference " + std::to_string(worst) + ", of norms " +
                            std::to_string(norms_apart) + ")");
}

bool all_steps(Communicator& comm) {
    bool good = true;
    for (WireFormat const wire : {WireFormat::native, WireFormat::bf16, WireFormat::f16}) {
        auto options = options_of(wire);
        std::string const words(sinew::name(wire));
        options.op = sinew::sum;  // of small integers: the same bits in every order
        good &= steps_are_near(comm, options, true, 0, "sums of integers, " + words);
        options.clip_norm = 100;
        options.check_finite = true;
        good &= steps_are_near(comm, options, true, 0, "clipped sums of integers, " + words);
        options = options_of(wire);
        double const limit = wire == WireFormat::native ? 2e-6
                             : wire == WireFormat::f16  ? 1e-2
                                                        : 0.06;
        good &= steps_are_near(comm, options, false, limit, "averages of real numbers, " + words);
        options.clip_norm = 0.5;
        good &= steps_are_near(comm, options, false, limit, "clipped averages, " + words);
    }
    for (WireFormat const wire : {WireFormat::fp8, WireFormat::int8}) {
        auto options = options_of(wire);
        std::string const words(sinew::name(wire));
        good &= steps_are_near(comm, options, false, 0, "averages, " + words);
        options.error_feedback = false;
        options.check_finite = true;
        good &= steps_are_near(comm, options, false, 0, "averages without feedback, " + words);
    }
    return good;
}

bool failed_steps_and_joins(Communicator& comm) {
    int const last = comm.size() - 1;
    auto options = options_of(WireFormat::native);
    options.check_finite = true;
    Tensors values = tensors_of(comm.rank(), 0, true);
    Gradients device(values);
    options.stream = device.stream();
    GradientBuckets buckets(comm, device.registered(), options);
    std::size_t const broken = 7;
    if (comm.rank() == last) values.values[broken].back() = std::nanf("");
    device.enqueue(values);
    all_ready(buckets);
    bool found = false;
    try {
        buckets.finish();
    } catch (sinew::NonFiniteGradient const& error) {
        found = error.rank() == last && error.tensor() == broken;
    }
    bool good = expect(found, "NaN is found, and where it is");
    if (comm.rank() != last) {
        Tensors const again = tensors_of(comm.rank(), 1, true);
        device.enqueue(again);
        all_ready(buckets);
        bool const counted = buckets.finish().active_ranks == last;
        Tensors means = tensors_of(0, 1, true);
        for (int rank = 1; rank < last; ++rank) {
            Tensors const other = tensors_of(rank, 1, true);
            for (std::size_t i = 0; i < means.values.size(); ++i)
                for (std::size_t k = 0; k < means.values[i].size(); ++k)
                    means.values[i][k] += other.values[i][k];
        }
        for (auto& all : means.values)
            for (float& value : all) value /= static_cast<float>(last);
        good &= expect(counted && device.largest_difference(means) <= 1e-5,
                       "a step without a rank that has joined");
    }
    buckets.join();
    return good;
}

/// Rates of powers of two and small integers: every number has few bits.
bool optimizer_descends(Communicator& comm, WireFormat wire) {
    auto options = options_of(wire);
    options.op = sinew::sum;
    Tensors expected = tensors_of(0, 100, true), momentum = expected;
    for (auto& all : momentum.values) std::fill(all.begin(), all.end(), 0.0F);
    Gradients const parameters(expected);
    Gradients gradients(tensors_of(comm.rank(), 0, true));
    std::vector<sinew::Parameter> all;
    for (std::size_t i = 0; i < expected.values.size(); ++i)
        all.emplace_back("tensor" + std::to_string(i), parameters.elements(i),
                         gradients.elements(i));
    options.stream = gradients.stream();
    sinew::DeviceSgd optimizer(comm, all, {.learning_rate = 0.125, .momentum = 0.5}, options);
    for (int step = 0; step < 3; ++step) {
        Tensors const own = tensors_of(comm.rank(), step, true);
        gradients.enqueue(own);
        for (std::size_t i = optimizer.size(); i-- > 0;) optimizer.ready(i);
        optimizer.step();
        Tensors sums = tensors_of(0, step, true);
        for (int rank = 1; rank < comm.size(); ++rank) {
            Tensors const other = tensors_of(rank, step, true);
            for (std::size_t i = 0; i < sums.values.size(); ++i)
                for (std::size_t k = 0; k < sums.values[i].size(); ++k)
                    sums.values[i][k] += other.values[i][k];
        }
        for (std::size_t i = 0; i < sums.values.size(); ++i)
            for (std::size_t k = 0; k < sums.values[i].size(); ++k) {
                float& velocity = momentum.values[i][k];
                velocity = 0.5F * velocity + sums.values[i][k];
                expected.values[i][k] -= 0.125F * velocity;
            }
    }
    return expect(parameters.largest_difference(expected) == 0,
                  "three steps of DeviceSgd, " + std::string(sinew::name(wire)));
}

}  // namespace

int main(int argc, char** argv) {
    sinew::tests::need_gpu();
    sinew::tests::use_nccl_on_one_gpu();
    try {
        sinew::World world(argc, argv);
        Communicator& comm = world.communicator();
        bool good = all_steps(comm);
        good &= failed_steps_and_joins(comm);
        for (WireFormat const wire : {WireFormat::native, WireFormat::bf16, WireFormat::f16})
            good &= optimizer_descends(comm, wire);
        return good ? 0 : 1;
    } catch (sinew::Error const& error) {
        expect(false, error.what());
        return 1;
    }
}
