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
    std::vector<std::pair<std::uintptr_t, std::uintptr_t>> code;      ///< the executable segments
    std::string build_id;                                             ///< in hex; empty: none
    bool tasks = false;                                               ///< whether it holds tasks

    bool holds(std::uintptr_t address) const;
    bool holds_code(std::uintptr_t address) const;
};

/// Returns the executable first, then the libraries in load order.
std::vector<Module> loaded_modules();

}  // namespace sinew::detail
