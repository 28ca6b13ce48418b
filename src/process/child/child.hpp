// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "src/base/system/unique_fd.hpp"
#include "src/process/child/start_child.hpp"

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

/// Of the links between parent and child; both ends adopt theirs with these. A child that says nothing
/// for a second is suspect, never dead: whether it lives, the kernel tells.
wire::LinkOptions control_options();
wire::LinkOptions bulk_options();

/// What a child adopts its links as being connected to.
wire::Identity parent_identity(ChildStart const& start);

/// What the child's role does in place of the program's main(); the result is the exit code.
struct ChildRole {
    char const* role;
    int (*run)(ChildStart& start);
};

/// Beside those of sinew's own, before sinew::init(); for tests.
void add_role(ChildRole role);
/// Runs start.role, of `own` or one that was added; the exit code. Says so when there is none.
int run_role(std::span<ChildRole const> own, ChildStart& start);

/// True in a process that start_child started: then `start` is filled in, the session joined, and the
/// process sees to it that it does not outlive its parent. The variable is gone from the environment
/// and the descriptors are closed on exec.
bool is_child(ChildStart& start);

/// For roles whose process may be started on another node: it ends when its lease is over, looked at
/// every now and then. Nothing where it has none. With the guard held.
void obey_lease(ChildStart const& start);

/// Remembers that main() begins with sinew::init(), and what a child of this program can do.
void init_called();
bool was_init_called();
/// Empty in a process that is no child.
std::string const& own_child_name();

/// How a child is told what it is; between children.cpp and child.cpp.
namespace birth {
constexpr char const* variable = "SINEW_CHILD";
constexpr std::uint8_t kind = kinds::child_last;  ///< of the first frame of the control link
std::string encode(Runtime& runtime, ChildSpec const& spec);
}  // namespace birth

}  // namespace sinew::process
