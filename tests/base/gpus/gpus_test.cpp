// SPDX-License-Identifier: Apache-2.0
#include "src/base/gpus/gpus.hpp"

#include <gmock/gmock.h>

#include "tests/process/support/resources.hpp"

namespace sinew {
namespace {

using process::test::Root;
using process::test::Variable;
using testing::ElementsAre;
using testing::IsEmpty;

TEST(Gpus, AreThoseOfTheVariableOrOfTheDriver) {
    Root const root;
    for (int gpu = 0; gpu < 3; ++gpu)
        root.file(text("/proc/driver/nvidia/gpus/0000:0", gpu, ":00.0/information"));
    std::optional<Variable> given(std::in_place, "CUDA_VISIBLE_DEVICES", " 3, GPU-a ,3,-1,4");
    EXPECT_THAT(visible_gpus(root.path()), ElementsAre("3", "GPU-a"));
    given.emplace("CUDA_VISIBLE_DEVICES", "");
    EXPECT_THAT(visible_gpus(root.path()), IsEmpty());
    ::unsetenv("CUDA_VISIBLE_DEVICES");
    EXPECT_THAT(visible_gpus(root.path()), ElementsAre("0", "1", "2"));
    for (char const* device : {"nvidia0", "nvidia7", "nvidiactl", "nvidia-uvm"})
        root.file(text("/dev/", device));
    EXPECT_THAT(visible_gpus(root.path()), ElementsAre("0", "1"));
}

}  // namespace
}  // namespace sinew
