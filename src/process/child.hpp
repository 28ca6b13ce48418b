// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "src/base/unique_fd.hpp"
#include "src/process/nursery.hpp"

namespace sinew::process {

/// What a process started by `start_child` finds when it begins.
struct ChildStart {
    std::string role, name;
    std::vector<std::byte> message;
    std::string parent_name;
    UniqueFd control, bulk;  ///< ends of the socket pairs: for wire::adopt
    StatusPage* status;
    std::vector<std::byte>
        early;  ///< bytes of `control` read along with the first frame: none so far
};

/// What the child's role does in place of the program's main(); the result is the exit code.
struct ChildRole {
    char const* role;
    int (*run)(ChildStart& start);
};

/// True in a process that start_child started: then `start` is filled in, the family joined, and the
/// process sees to it that it does not outlive its parent. The variable is gone from the environment
/// and the descriptors are closed on exec.
bool is_child(ChildStart& start);

/// Remembers that main() begins with sinew::init(), and what a child of this program can do.
void init_called();

}  // namespace sinew::process
