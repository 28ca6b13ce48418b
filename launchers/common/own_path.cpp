// SPDX-License-Identifier: Apache-2.0
#include "launchers/common/own_path.hpp"

#include <filesystem>

#include "launchers/common/copy_layout.hpp"

namespace sinew::launch {
namespace {

namespace fs = std::filesystem;

fs::path executed_file() {
    std::error_code problem;
    auto path = fs::read_symlink("/proc/self/exe", problem);
    return problem ? fs::path() : path;
}

}  // namespace

std::optional<std::string> own_copy() {
    auto const file = executed_file();
    auto const folder = file.parent_path().parent_path();
    std::error_code none;
    if (file.empty() || file != folder / copy_loader || !fs::exists(folder / copy_command, none) ||
        !fs::exists(folder / copy_start, none))
        return std::nullopt;
    return folder.string();
}

std::string own_path() {
    if (auto const copy = own_copy()) return (fs::path(*copy) / copy_start).string();
    auto const file = executed_file();
    return file.empty() ? "sinew" : file.string();
}

}  // namespace sinew::launch
