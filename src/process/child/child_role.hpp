// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "src/base/system/unique_fd.hpp"
#include "src/process/child/child.hpp"

namespace sinew::process {

/// What a process started by `start_child` finds at its start.
struct ChildStart {
    std::string role, name;
    std::vector<std::byte> message;
    std::string parent_name;
    UniqueFd control, bulk;  ///< ends of the socket pairs, for wire::adopt
    StatusPage* status;
};

/// Options of the links between parent and child, for both ends. A child that is silent for a
/// second is suspect, never dead: the kernel reports its death.
wire::LinkOptions control_options();
wire::LinkOptions bulk_options();

/// The identity that a child gives its parent.
wire::Identity parent_identity(ChildStart const& start);

/// The function that a child runs instead of the program's main(). It returns the exit code.
struct ChildRole {
    char const* role;
    int (*run)(ChildStart& start);
};

/// Adds a role to those of sinew, before sinew::init(). For tests.
void add_role(ChildRole role);
/// Runs start.role, of `own` or one that was added, and returns its exit code. Reports a role that
/// does not exist.
int run_role(std::span<ChildRole const> own, ChildStart& start);

/// Returns whether start_child started this process. If so, fills `start` in, joins the session,
/// removes the variable from the environment, and sets the descriptors to be closed on exec. Such a
/// process ends with its parent.
bool is_child(ChildStart& start);

/// For roles whose process may be started on another node: ends the process when its lease has
/// expired, which is checked now and then. Does nothing without a lease. Requires: guard held.
void obey_lease(ChildStart const& start);

/// Notes that sinew::init() was called.
void init_called();
bool was_init_called();
/// Empty in a process that is not a child.
std::string const& own_child_name();

/// How a child is told its role; shared by start_child and is_child.
namespace bootstrap {
constexpr char const* variable = "SINEW_CHILD";
constexpr std::uint8_t kind = kinds::child_last;  ///< of the first frame of the control link
/// The first frame: this, followed by what the role needs to begin.
struct Head {
    std::string secret;  ///< of the session, in hexadecimal
    std::string folder, network, role, name, parent_name;

    template <class Archive>
    void serialize(Archive& archive) {
        archive(secret, folder, network, role, name, parent_name);
    }
};
}  // namespace bootstrap

}  // namespace sinew::process
