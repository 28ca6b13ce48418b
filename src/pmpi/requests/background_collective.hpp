// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <optional>

#include "collectives/node/node_call.hpp"
#include "collectives/schedule/scratch.hpp"
#include "src/pmpi/requests/posted_collective.hpp"

namespace sinew::pmpi {

/// A non-blocking collective of this rank that is too long to be posted. It is executed as its blocking
/// form is, by a thread that need not be one of the program: whatever needs MPI, such as packing, is done
/// before and after.
class BackgroundCollective final : public PendingCollective {
public:
    using Algorithm = void (*)(collectives::node::NodeCall const&);

    BackgroundCollective(MpiFunction function, MPI_Comm comm)
        : PendingCollective(function, comm),
          arrival(std::make_shared<PostedCollective>(function, comm)) {}

    /// What is to be executed. Copies the arguments, but for what lies in scratch().
    void prepare(Algorithm algorithm, collectives::Arguments const& args);
    /// Called by deliver(), unless the call has failed.
    void afterwards(std::function<void()> delivery) { delivery_ = std::move(delivery); }
    /// Working memory and lists of the call, until it is delivered.
    collectives::Scratch& scratch() { return scratch_; }
    /// What must exist until the call is delivered.
    void keep(std::shared_ptr<void const> arguments) { kept_ = std::move(arguments); }

    /// Bytes that this rank sends or receives, about.
    std::size_t bytes(int ranks) const;
    void execute(node_memory::Room& room, node_memory::Waiter& waiter) const;
    void deliver() override;

    /// Of BackgroundQueue: ends when all ranks have made the call.
    std::shared_ptr<PostedCollective> const arrival;

private:
    Algorithm algorithm_ = nullptr;  // null: there is nothing to do
    collectives::Arguments args_;
    std::optional<collectives::Reducer> reducer_;
    collectives::Scratch scratch_;
    std::shared_ptr<void const> kept_;
    std::function<void()> delivery_;
};

}  // namespace sinew::pmpi
