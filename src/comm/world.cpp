// SPDX-License-Identifier: Apache-2.0
#include <sinew/comm/timeline.hpp>
#include <sinew/world.hpp>

#include <chrono>
#include <exception>
#include <optional>
#include <thread>

#include <sinew/error.hpp>

#include "src/base/env.hpp"
#include "src/base/log.hpp"
#include "src/base/text.hpp"
#include "src/comm/join.hpp"
#include "src/comm/operation_reporter.hpp"
#include "src/world/bootstrap.hpp"

namespace sinew {

namespace {

/// A destructor cannot throw. A lost rank is found out by the others in the barrier that follows.
void write_timeline(Timeline& timeline, int rank) {
    try {
        timeline.write();
    } catch (std::exception const& error) {
        if (rank == 0) log_warning(text("SINEW_TIMELINE: ", error.what()));
    }
}

}  // namespace

struct World::State {
    explicit State(Bootstrap found)
        : bootstrap(std::move(found)),
          communicator(detail::join(
              std::move(bootstrap.transport), detail::Engine::of_process(bootstrap.threading),
              NodeIdentity::mine(), detail::CommonSettings::from_environment())) {
        if (communicator.state().settings().timeline)
            timeline.emplace(communicator, env("SINEW_TIMELINE").value_or(""));
        reporter = detail::OperationReporter::make(communicator.rank());
    }

    Bootstrap bootstrap;
    Communicator communicator;
    std::optional<Timeline> timeline;                     ///< with SINEW_TIMELINE
    std::unique_ptr<detail::OperationReporter> reporter;  ///< with a dashboard
    int exceptions = std::uncaught_exceptions();
};

World::World() : World(0, nullptr) {}

World::World(int argc, char** argv) : state_(std::make_unique<State>(find_bootstrap(argc, argv))) {}

World::~World() {
    using namespace std::chrono_literals;
    detail::CommunicatorState& last = state_->communicator.state();
    if (size() > 1 && std::uncaught_exceptions() > state_->exceptions)
        last.abandon(
            text("rank ", rank(), " of ", size(), " left the world because of an exception"));
    if (!last.lost()) {
        try {
            if (state_->timeline) write_timeline(*state_->timeline, rank());
            state_->communicator.barrier();
        } catch (std::exception const& error) {
            log_warning(text("leaving without the other ranks: ", error.what()));
        }
    }
    bool const together = !last.lost();
    // A launcher ends the whole job when one rank leaves early: give the others time to report.
    if (!together) std::this_thread::sleep_for(1s);
    auto const leave = state_->bootstrap.leave;
    state_.reset();  // communicators split from it must be destroyed: MPI is finalized next
    if (together) leave();
}

Communicator& World::communicator() noexcept { return state_->communicator; }
int World::rank() const noexcept { return state_->communicator.rank(); }
int World::size() const noexcept { return state_->communicator.size(); }
NodeLayout const& World::nodes() const noexcept { return state_->communicator.nodes(); }
std::string_view World::bootstrap() const noexcept { return state_->bootstrap.name; }

}  // namespace sinew
