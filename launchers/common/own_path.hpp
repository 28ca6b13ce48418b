// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>

namespace sinew::launch {

/// The absolute path of this program's executable; "sinew" if it is not known.
inline std::string own_path() {
    std::error_code problem;
    auto const path = std::filesystem::read_symlink("/proc/self/exe", problem);
    return problem ? "sinew" : path.string();
}

}  // namespace sinew::launch
