// SPDX-License-Identifier: Apache-2.0
#include "src/nodes/acquire/find_command.hpp"

#include <dlfcn.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <sinew/error.hpp>
#include <sstream>

#include "src/base/env.hpp"
#include "src/base/text.hpp"

namespace sinew::nodes {
namespace {

namespace fs = std::filesystem;

bool can_run(fs::path const& path) {
    std::error_code none;
    return fs::is_regular_file(path, none) && ::access(path.c_str(), X_OK) == 0;
}

// The file that contains this code: libsinew.so, or the program.
fs::path own_module() {
    Dl_info about{};
    if (::dladdr(reinterpret_cast<void const*>(&own_module), &about) == 0) return {};
    std::error_code none;
    auto const path = fs::canonical(about.dli_fname, none);
    return none ? fs::read_symlink("/proc/self/exe", none) : path;
}

}  // namespace

std::string find_in_path(char const* command) {
    std::istringstream folders(env("PATH").value_or(""));
    for (std::string each; std::getline(folders, each, ':');)
        if (auto const path = fs::path(each) / command; !each.empty() && can_run(path))
            return path.string();
    return {};
}

std::string find_command() {
    auto const given = env("SINEW_COMMAND");
    if (given && !can_run(*given))
        throw SystemError(text("SINEW_COMMAND=", *given,
                               " cannot be executed. Name the sinew command, or unset it"),
                          ENOENT);
    if (given) return *given;
    // PREFIX/lib, PREFIX/lib/x86_64-linux-gnu, PREFIX/bin.
    auto const module = own_module();
    auto folder = module.parent_path();
    for (int level = 0; level < 2 && folder.has_relative_path(); ++level) {
        folder = folder.parent_path();
        if (auto const path = folder / "bin" / "sinew"; can_run(path)) return path.string();
    }
    if (auto path = find_in_path("sinew"); !path.empty()) return path;
    throw SystemError(
        text("there is no sinew command to acquire nodes with (SINEW_COMMAND is not "
             "set, there is no bin/sinew in the installation of ",
             module.string(), ", and none in PATH). Install it, or set SINEW_COMMAND to its path"),
        ENOENT);
}

}  // namespace sinew::nodes
