// SPDX-License-Identifier: Apache-2.0
#include <cstdlib>
#include <sinew/init.hpp>

#include "src/manager/manager_main.hpp"
#include "src/nodes/acquire/agent_main.hpp"
#include "src/pool/worker/worker_main.hpp"
#include "src/process/child/child_role.hpp"
#include "src/process/child/process_main.hpp"
#include "src/ring/member_main.hpp"

namespace sinew {
namespace {

constexpr process::ChildRole roles[] = {
    {"pool worker", pool::worker_main},
    {"process", process::process_main},
    {"manager", manager::manager_main},
    {"ring member", ring::member_main},
};

}  // namespace

void init(int, char**) {
    process::init_called();
    process::ChildStart start;
    if (process::is_child(start)) std::exit(process::run_role(roles, start));
    if (auto const config = nodes::is_node_agent()) std::exit(nodes::node_agent_main(*config));
}

}  // namespace sinew
