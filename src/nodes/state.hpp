// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "src/nodes/acquire/acquisition.hpp"
#include "src/nodes/roster.hpp"
#include "src/process/runtime.hpp"

namespace sinew::nodes {

/// What rank 0, or a process that has acquired nodes, has of them. Shared by all Nodes and Node
/// values and by holders of Access::keep().
struct State {
    explicit State(process::Runtime& runtime_) : runtime(runtime_) {}
    State(State const&) = delete;
    // Does not lock the guard, which the thread that drops the last reference may hold.
    ~State() {
        auto const all = std::make_shared<Owned>(std::move(owned));
        if (process::Runtime::forked()) {
            process::Runtime::leave_to_parent(all);
            return;
        }
        runtime.loop().post([all] {
            for (auto const& rank : all->ranks)
                if (rank) rank->over();
            if (all->acquisition) all->acquisition->end();
        });
    }

    struct Owned {
        std::shared_ptr<Roster> roster = std::make_shared<Roster>();
        std::vector<std::shared_ptr<RemoteNode>> ranks;  ///< of a communicator; null for rank 0
        std::shared_ptr<Acquisition> acquisition;        ///< null: of a communicator
    };
    process::Runtime& runtime;
    Owned owned;
};

}  // namespace sinew::nodes
