// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <sinew/lease.hpp>
#include <vector>

#include "tests/lease/support/environment.hpp"
#include "tests/support/temp_folder.hpp"

namespace sinew::lease::test {

/// A host with four GPUs that NVML knows, and a folder of its own.
class HostWithGpus : public testing::Test {
protected:
    Environment environment_{{"FAKE_NVML", "gpus 4"}};
    testing_support::TempFolder temporary_;
    LeaseOptions options_{.folder = temporary_.path() / "leases"};
};

inline std::vector<int> indices(Lease const& lease) {
    std::vector<int> found;
    for (auto const& gpu : lease.gpus()) found.push_back(gpu.index);
    return found;
}

}  // namespace sinew::lease::test
