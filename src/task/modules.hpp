// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace sinew::detail {

/// An executable or shared library in this process.
struct Module {
    std::string path;
    std::uintptr_t base = 0;
    std::vector<std::pair<std::uintptr_t, std::uintptr_t>> segments;  ///< first byte, past the last
    std::vector<std::pair<std::uintptr_t, std::uintptr_t>> code;  ///< those that can be executed
    std::string build_id;                                         ///< in hex; empty: linked without
    bool tasks = false;                                           ///< holds some

    bool holds(std::uintptr_t address) const;
    bool holds_code(std::uintptr_t address) const;
};

/// The executable first, then the libraries in the order they were loaded in.
std::vector<Module> loaded_modules();

}  // namespace sinew::detail
