// SPDX-License-Identifier: Apache-2.0
#include "launchers/pmi/open_mpi_shortcuts.hpp"

#include <gmock/gmock.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace sinew::launch {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
namespace fs = std::filesystem;

class OpenMpiShortcuts : public ::testing::Test {
protected:
    OpenMpiShortcuts()
        : root_(::testing::TempDir() + "sinew-shortcuts-" + std::to_string(::getpid())) {
        fs::create_directories(root_ / "dev");
        fs::create_directories(root_ / "sys/class/infiniband");
        fs::create_directories(root_ / "etc/openmpi");
        fs::create_directories(root_ / "home/.openmpi");
    }
    ~OpenMpiShortcuts() override { fs::remove_all(root_); }
    void write(std::string const& path, std::string const& text) {
        std::ofstream(root_ / path) << text;
    }
    std::vector<std::string> shortcuts() {
        return open_mpi_shortcuts(root_.string(), (root_ / "home").string());
    }

    fs::path root_;
};

TEST_F(OpenMpiShortcuts, LeavesOutDriversOfDevicesThatAreNotThere) {
    EXPECT_THAT(shortcuts(), ElementsAre("OMPI_MCA_mtl=^psm,psm2", "OMPI_MCA_osc=^ucx"));
}

TEST_F(OpenMpiShortcuts, KeepsWhatTheSystemLeavesOut) {
    write("etc/openmpi/openmpi-mca-params.conf", "# mtl = psm\n  mtl = ^ofi\npml = ^ucx\n");
    EXPECT_THAT(shortcuts(), ElementsAre("OMPI_MCA_mtl=^ofi,psm,psm2", "OMPI_MCA_osc=^ucx"));
}

TEST_F(OpenMpiShortcuts, DoesNothingWhereADriverIsChosen) {
    write("home/.openmpi/mca-params.conf", "mtl=psm2\nosc=rdma\n");
    EXPECT_THAT(shortcuts(), IsEmpty());
}

TEST_F(OpenMpiShortcuts, DoesNothingWhereThereIsADevice) {
    write("dev/hfi1_0", "");
    write("sys/class/infiniband/mlx5_0", "");
    EXPECT_THAT(shortcuts(), IsEmpty());
}

TEST_F(OpenMpiShortcuts, LeaveOneSidedCommunicationAWayWithoutRdma) {
    write("dev/hfi1_0", "");
    write("etc/openmpi/openmpi-mca-params.conf", "osc = ^ucx,pt2pt,monitoring\n");
    EXPECT_THAT(shortcuts(), ElementsAre("OMPI_MCA_osc=^ucx,monitoring"));
}

}  // namespace
}  // namespace sinew::launch
