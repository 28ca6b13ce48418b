// SPDX-License-Identifier: Apache-2.0
#include "launchers/common/own_path.hpp"

#include <filesystem>

namespace sinew::launch {

std::string own_path() {
    std::error_code problem;
    auto const path = std::filesystem::read_symlink("/proc/self/exe", problem);
    return problem ? "sinew" : path.string();
}

}  // namespace sinew::launch
