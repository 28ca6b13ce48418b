// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <memory>
#include <optional>
#include <sinew/manager.hpp>
#include <string>

#include "src/manager/object_registry.hpp"
#include "src/process/child/child.hpp"

namespace sinew {
namespace manager {

/// Parses an address as wire::Address writes it; without "unix:" or "tcp:" it is a TCP address and
/// port.
std::string guest_address(std::string const& written);
/// "2.5 s"
std::string seconds(std::chrono::nanoseconds time);

}  // namespace manager

/// The implementation of a Manager: the process that it started, or that of another session which
/// it calls.
struct Manager::State {
    explicit State(ManagerOptions options_) : options(std::move(options_)) {}

    void start();
    void add_supervisor(std::unique_ptr<manager::SnapshotFolder> folder);
    void launch();
    void listen();
    void wait_for_ready(process::Lock& lock);
    void wait_for_objects(process::Lock& lock);
    std::shared_ptr<manager::Connection> current(process::Lock& lock);
    void remove_supervisor();
    std::shared_ptr<manager::PendingReply> begin(detail::TaskEntry const& supervisor,
                                                 Writer& arguments, unsigned calls);
    void end() noexcept;

    ManagerOptions options;
    manager::ObjectRegistry& registry = manager::ObjectRegistry::instance();
    std::string guests;  ///< the address for guests

    // With the guard held.
    pid_t pid = 0;
    std::shared_ptr<manager::Supervisor> supervisor;  ///< null: it is not restarted
    bool begun = false;
    std::unique_ptr<process::Child> child;
    std::shared_ptr<manager::Connection> connection;
    std::condition_variable changed;
    std::optional<process::ProcessAddress> address;
    std::optional<process::ChildEnd> ended;
};

}  // namespace sinew
