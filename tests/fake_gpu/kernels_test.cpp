// SPDX-License-Identifier: Apache-2.0
// The launches of kernels on the fake driver, which executes their twins on the memory, in the order of the
// stream, that the launches name.
#include <gmock/gmock.h>

#include <array>
#include <atomic>
#include <memory>

#include <sinew/error.hpp>

#include "src/sgd/device/device_kernels.hpp"
#include "src/sgd/device/kernel_image.hpp"
#include "tests/fake_gpu/fake_gpu.hpp"
#include "tests/fake_gpu/fake_kernels.hpp"
#include "tests/sgd/device/kernel_cases.hpp"

namespace sinew::tests {
namespace {

using namespace sinew::sgd;
using testing::HasSubstr;

constexpr unsigned fake_most_blocks = 48;  // 8 waves on 3 multiprocessors of 512 threads

std::atomic<unsigned> most_launched{0};
std::atomic<int> launches{0};

void counting_kernels(char const* name, unsigned blocks, void const* parameter) {
    ++launches;
    if (blocks > most_launched) most_launched = blocks;
    run_fake_kernel(name, blocks, parameter);
}

CudaDriver::Context current_context(CudaDriver const& driver) {
    fake_cuda_use_device(0);
    CudaDriver::Context context = nullptr;
    driver.check(driver.context_get(&context), "cuCtxGetCurrent");
    return context;
}

std::byte const some_image[64] = {};

class FakeKernelMachine final : public KernelMachine {
public:
    FakeKernelMachine() : driver_(CudaDriver::load()), context_(current_context(driver_)) {
        fake_cuda_kernels(counting_kernels, fake_kernel_bytes);
        kernels_.emplace(driver_, context_, DeviceKernels::Images{some_image});
        stream_.emplace();
    }
    ~FakeKernelMachine() override {
        stream_->synchronize();
        for (auto const memory : memory_) cuMemFree_v2(memory);
    }
    void* allocate(std::size_t bytes) override {
        unsigned long long memory = 0;
        if (cuMemAlloc_v2(&memory, bytes) != 0) throw std::runtime_error("cuMemAlloc");
        memory_.push_back(memory);
        return reinterpret_cast<void*>(memory);
    }
    void write(void* to, void const* from, std::size_t bytes) override {
        std::memcpy(fake_cuda_shadow(to), from, bytes);
    }
    void read(void* to, void const* from, std::size_t bytes) override {
        stream_->synchronize();
        std::memcpy(to, fake_cuda_shadow(from), bytes);
    }
    DeviceKernels const& kernels() override { return *kernels_; }
    CudaDriver::Stream stream() override { return *stream_; }

private:
    CudaDriver const& driver_;
    CudaDriver::Context context_;
    std::optional<DeviceKernels> kernels_;
    std::optional<DeviceStream> stream_;
    std::vector<unsigned long long> memory_;
};

TEST(FakeKernels, LaunchWhatTheCallsSay) {
    FakeKernelMachine machine;
    most_launched = 0;
    for (KernelCase const& one : kernel_cases()) EXPECT_EQ(one.run(machine), "") << one.name;
    EXPECT_EQ(most_launched, fake_most_blocks);
}

TEST(FakeKernels, OneLaunchForAnyNumberOfTensorsAndNoneForNothing) {
    FakeKernelMachine machine;
    DeviceArray<float> bucket(5000), tensors(5000);
    std::vector<TensorPlace> places;
    for (std::uint64_t i = 0; i < 1000; ++i)
        places.push_back({reinterpret_cast<std::uint64_t>(tensors.data() + 5 * i), 5 * i, 5, 4});
    DeviceArray<Segment> const list(segments_of(places));
    launches = 0;
    SegmentCopy call{bucket.data(),    list.data(),      list.size(),
                     FloatFormat::f32, FloatFormat::f32, 1};
    machine.kernels().flatten(call, machine.stream());
    call.segment_count = 0;
    machine.kernels().flatten(call, machine.stream());
    machine.kernels().convert({}, machine.stream());
    machine.kernels().quantise({}, machine.stream());
    cuStreamSynchronize(machine.stream());
    EXPECT_EQ(launches, 1);
}

TEST(FakeKernels, AreCapturedAndReplayed) {
    FakeKernelMachine machine;
    DeviceArray<float> sum(std::vector<float>(100, 1.0f)), one(std::vector<float>(100, 1.0f));
    ASSERT_EQ(cuStreamBeginCapture_v2(machine.stream(), 0), 0);
    machine.kernels().add({sum.data(), sum.data(), one.data(), 100, FloatFormat::f32},
                          machine.stream());
    void *graph = nullptr, *runnable = nullptr;
    ASSERT_EQ(cuStreamEndCapture(machine.stream(), &graph), 0);
    ASSERT_EQ(cuGraphInstantiateWithFlags(&runnable, graph, 0), 0);
    for (int i = 0; i < 3; ++i) ASSERT_EQ(cuGraphLaunch(runnable, machine.stream()), 0);
    cuStreamSynchronize(machine.stream());
    EXPECT_THAT(sum.values(), testing::Each(4.0f));
    cuGraphExecDestroy(runnable);
    cuGraphDestroy(graph);
}

TEST(FakeKernels, AreUnloadedAlsoIfOneIsMissing) {
    CudaDriver const& driver = CudaDriver::load();
    CudaDriver::Context const context = current_context(driver);
    int const before = fake_cuda_modules();
    { FakeKernelMachine machine; }
    EXPECT_EQ(fake_cuda_modules(), before);
    fake_cuda_kernels(nullptr, [](char const* name) {
        return std::string_view(name) == "sinew_sgd" ? 0 : fake_kernel_bytes(name);
    });
    try {
        DeviceKernels const kernels(driver, context, {some_image});
        ADD_FAILURE() << "there is a kernel missing";
    } catch (BackendError const& error) {
        EXPECT_THAT(error.what(), HasSubstr("cuModuleGetFunction of sinew_sgd: CUDA error 500"));
    }
    EXPECT_EQ(fake_cuda_modules(), before);
}

TEST(FakeKernels, ThatAreNotForThisGpuAreUnavailable) {
    CudaDriver const& driver = CudaDriver::load();
    CudaDriver::Context const context = current_context(driver);
    fake_cuda_kernels(run_fake_kernel, fake_kernel_bytes);
    fake_cuda_fail_module_load(CudaDriver::no_binary_for_gpu);
    try {
        DeviceKernels const kernels(driver, context, {some_image});
        ADD_FAILURE() << "the module was refused";
    } catch (Unavailable const& error) {
        EXPECT_THAT(error.what(), HasSubstr("GPU 0 is none of these"));
        EXPECT_THAT(error.what(), HasSubstr("SINEW_CUDA_ARCHITECTURES"));
    }
    fake_cuda_fail_module_load(2);
    EXPECT_THROW(DeviceKernels(driver, context, {some_image}), BackendError);
}

TEST(FakeKernels, RefuseWhatTheyCannotTake) {
    FakeKernelMachine machine;
    DeviceKernels const& kernels = machine.kernels();
    DeviceArray<float> memory(1024);
    auto const why = [&](auto&& call) -> std::string {
        try {
            call();
        } catch (UsageError const& error) {
            return error.what();
        }
        return "no error";
    };
    auto const stream = machine.stream();
    EXPECT_THAT(why([&] {
                    kernels.add({nullptr, memory.data(), memory.data(), 9}, stream);
                }),
                HasSubstr("add: out is null"));
    EXPECT_THAT(
        why([&] {
            kernels.quantise({memory.data() + 512, memory.data() + 1, nullptr, 1, 1}, stream);
        }),
        HasSubstr("not aligned for 16 bytes"));
    EXPECT_THAT(
        why([&] {
            kernels.convert({memory.data(), reinterpret_cast<char*>(memory.data()) + 1, 4}, stream);
        }),
        HasSubstr("not aligned for 4 bytes"));
    Selection selection{};
    selection.values = memory.data();
    selection.count = 100;
    selection.k = 101;
    EXPECT_THAT(why([&] { kernels.select(selection, 0, stream); }),
                HasSubstr("k is 101, but there are 100 values"));
    selection.count = std::uint64_t{1} << 32;
    EXPECT_THAT(why([&] { kernels.select(selection, 0, stream); }), HasSubstr("4294967296 values"));
    int wrong = 0;
    EXPECT_THROW(kernels.add({memory.data(), memory.data(), memory.data(), 9}, &wrong),
                 BackendError);
}

TEST(KernelImages, AreThereOrSayWhyNot) {
    if (kernel_targets().empty()) {
        try {
            kernel_images();
            ADD_FAILURE() << "there are images";
        } catch (Unavailable const& error) {
            EXPECT_THAT(error.what(), HasSubstr("built without kernels for GPUs ("));
            EXPECT_THAT(error.what(), HasSubstr("SINEW_WITH_CUDA"));
        }
        return;
    }
    for (auto const image : kernel_images()) {
        constexpr std::array<unsigned char, 4> fatbin{0x50, 0xed, 0x55, 0xba};
        ASSERT_GT(image.size(), 1000u);
        EXPECT_EQ(std::memcmp(image.data(), fatbin.data(), fatbin.size()), 0);
        EXPECT_EQ(reinterpret_cast<std::uintptr_t>(image.data()) % 64, 0u);
    }
}

}  // namespace
}  // namespace sinew::tests
