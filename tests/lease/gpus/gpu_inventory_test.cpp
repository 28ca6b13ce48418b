// SPDX-License-Identifier: Apache-2.0
#include "src/lease/gpus/gpu_inventory.hpp"

#include <gmock/gmock.h>

#include <sinew/error.hpp>

#include "tests/lease/support/environment.hpp"
#include "tests/support/message_of.hpp"

namespace sinew::lease {
namespace {

using test::Environment;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing_support::message_of;

std::vector<int> indices(GpuInventory const& inventory) {
    std::vector<int> found;
    for (auto const& gpu : inventory.gpus) found.push_back(gpu.index);
    return found;
}

TEST(GpuInventory, AsksNvmlBeforeItBelievesTheConfiguration) {
    Environment const environment{{"FAKE_NVML", "gpus 3"}, {"SINEW_GPUS", "7"}};
    auto const found = find_gpus(5);
    EXPECT_THAT(indices(found), ElementsAre(0, 1, 2));
    EXPECT_EQ(found.all, 3);
    EXPECT_TRUE(found.by_uuid);
    EXPECT_EQ(found.gpus[1].uuid, "GPU-1-fake");
    EXPECT_EQ(found.gpus[1].pci_address, "0000:11:00.0");
}

TEST(GpuInventory, IsConfiguredWhereNvmlIsNotThereOrDoesNotStart) {
    Environment environment{{"SINEW_NVML_LIBRARY", "/nowhere.so"}, {"SINEW_GPUS", "2"}};
    EXPECT_THAT(indices(find_gpus(std::nullopt)), ElementsAre(0, 1));
    EXPECT_THAT(indices(find_gpus(1)), ElementsAre(0)) << "options precede variables";
    environment.unset("SINEW_NVML_LIBRARY");
    environment.set("SINEW_NVML_LIBRARY", FAKE_NVML_LIBRARY);
    environment.set("FAKE_NVML", "fails 9");
    EXPECT_THAT(indices(find_gpus(std::nullopt)), ElementsAre(0, 1));
    EXPECT_FALSE(find_gpus(std::nullopt).by_uuid);
}

TEST(GpuInventory, IsNeverGuessed) {
    Environment environment{{"FAKE_NVML", "fails 9"}};
    EXPECT_THAT(message_of<Unavailable>([] { find_gpus(std::nullopt); }),
                AllOf(HasSubstr("Driver Not Loaded"), HasSubstr("SINEW_GPUS")));
    environment.set("CUDA_VISIBLE_DEVICES", "0,1");
    EXPECT_THROW(find_gpus(std::nullopt), Unavailable);
    environment.set("SINEW_GPUS", "four");
    EXPECT_THAT(message_of<UsageError>([] { find_gpus(std::nullopt); }),
                HasSubstr("SINEW_GPUS=four"));
    environment.set("SINEW_GPUS", "-3");
    EXPECT_THROW(find_gpus(std::nullopt), UsageError);
    environment.set("SINEW_GPUS", "0");
    EXPECT_THAT(indices(find_gpus(std::nullopt)), IsEmpty());
}

TEST(GpuInventory, HasThoseThatCudaWouldSee) {
    Environment environment{{"FAKE_NVML", "gpus 4"}, {"CUDA_VISIBLE_DEVICES", "3,GPU-1,9,0"}};
    auto const found = find_gpus(std::nullopt);
    EXPECT_THAT(indices(found), ElementsAre(1, 3)) << "what follows an invalid word is not seen";
    EXPECT_EQ(found.all, 4);
    EXPECT_THAT(found.limited, HasSubstr("CUDA_VISIBLE_DEVICES=3,GPU-1,9,0"));
    environment.set("CUDA_VISIBLE_DEVICES", "");
    EXPECT_THAT(indices(find_gpus(std::nullopt)), IsEmpty());
    environment.set("CUDA_VISIBLE_DEVICES", "2,2");
    EXPECT_THAT(indices(find_gpus(std::nullopt)), ElementsAre(2));
    environment.set("CUDA_VISIBLE_DEVICES", "GPU-");
    EXPECT_THAT(message_of<UsageError>([] { find_gpus(std::nullopt); }), HasSubstr("GPU-1-fake"));
    environment.set("CUDA_VISIBLE_DEVICES", "MIG-GPU-0/1/0");
    EXPECT_THROW(find_gpus(std::nullopt), Unavailable);
}

TEST(GpuInventory, NeedsNvmlForUuids) {
    Environment const environment{
        {"FAKE_NVML", "fails 9"}, {"SINEW_GPUS", "2"}, {"CUDA_VISIBLE_DEVICES", "GPU-1"}};
    EXPECT_THROW(find_gpus(std::nullopt), Unavailable);
}

TEST(GpuInventory, LeavesOutWhatAContainerMayNotUseAndNumbersTheRest) {
    Environment const environment{{"FAKE_NVML", "gpus 4 denied 0 denied 2"}};
    auto const found = find_gpus(std::nullopt);
    EXPECT_THAT(indices(found), ElementsAre(0, 1));
    EXPECT_EQ(found.gpus[0].uuid, "GPU-1-fake");
    EXPECT_EQ(found.gpus[1].uuid, "GPU-3-fake");
}

TEST(GpuInventory, NumbersByPciAddressAsCudaDoes) {
    Environment const environment{{"FAKE_NVML", "gpus 3 reversed links 0 1 2"}};
    auto const found = find_gpus(std::nullopt);
    EXPECT_EQ(found.gpus[0].uuid, "GPU-2-fake");
    EXPECT_EQ(found.gpus[2].uuid, "GPU-0-fake");
    EXPECT_EQ(found.connections.between(1, 2), Connections::nvlink + 2);
    EXPECT_EQ(found.connections.between(0, 1), Connections::across_nodes);
}

TEST(GpuInventory, KnowsHowGpusAreConnected) {
    Environment environment{{"FAKE_NVML",
                             "gpus 6 level 0 1 0 level 0 2 10 level 0 3 20 level 0 4 30 "
                             "level 0 5 40 links 1 2 3 links 1 3 1"}};
    auto const found = find_gpus(std::nullopt).connections;
    EXPECT_EQ(found.between(0, 1), Connections::same_board);
    EXPECT_EQ(found.between(2, 0), Connections::pcie_bridge);
    EXPECT_EQ(found.between(0, 3), Connections::pcie_bridges);
    EXPECT_EQ(found.between(0, 4), Connections::host_bridge);
    EXPECT_EQ(found.between(0, 5), Connections::numa_node);
    EXPECT_EQ(found.between(4, 5), Connections::across_nodes);
    EXPECT_EQ(found.between(1, 2), Connections::nvlink + 3);
    EXPECT_EQ(found.between(3, 1), Connections::nvlink + 1);
    environment.set("FAKE_NVML", "gpus 8 switched 6");
    EXPECT_EQ(find_gpus(std::nullopt).connections.between(0, 7), Connections::nvlink + 6);
}

TEST(GpuInventory, LocksTheSameByteForTheSameUuid) {
    Environment environment{{"FAKE_NVML", "gpus 4"}};
    auto const all = find_gpus(std::nullopt);
    environment.set("FAKE_NVML", "gpus 4 denied 0 denied 1");
    auto const container = find_gpus(std::nullopt);
    EXPECT_EQ(container.lock(container.gpus[0]), all.lock(all.gpus[2]));
    EXPECT_NE(all.lock(all.gpus[0]).begin, all.lock(all.gpus[1]).begin);
}

}  // namespace
}  // namespace sinew::lease
