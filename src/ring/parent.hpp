// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <optional>
#include <sinew/remote_error.hpp>

#include "src/process/child/child_role.hpp"
#include "src/ring/protocol.hpp"
#include "src/wire/link.hpp"

namespace sinew::ring {

/// The first messages between a member and its parent, while the member has a single thread, so
/// that the environment can be changed before there are others. Blocking; the parent has the
/// deadline.
void join_ring(int control, Joined const& joined);
Table wait_for_table(int control);

/// A member's side of the links to its parent, until its process ends. When a link breaks, the
/// process ends.
class Parent {
public:
    explicit Parent(process::ChildStart& start);
    Parent(Parent const&) = delete;

    /// Throws SystemError if the commit could not be kept.
    void commit(std::uint64_t number, State const& state);
    /// Reports that this member's function has returned. Blocks until those of all others have,
    /// too.
    void returned();
    void failed(ErrorRecord const& record);

private:
    void hear(wire::Message const& message);
    std::unique_ptr<wire::Link> control_, bulk_;
    std::condition_variable changed_;
    bool answered_ = false;  ///< the commit in progress
    std::optional<CommitFailure> refusal_;
    bool may_leave_ = false;
};

}  // namespace sinew::ring
