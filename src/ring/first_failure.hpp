// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <exception>
#include <optional>
#include <sinew/remote_error.hpp>
#include <sinew/ring.hpp>
#include <span>
#include <string>

#include "src/process/child/child.hpp"

namespace sinew::ring {

/// What the parent knows of a member.
struct MemberRecord {
    int rank = 0;
    std::string host;
    pid_t pid = 0;
    bool joined = false, returned = false;
    std::optional<ErrorRecord> error;        ///< what it threw
    std::exception_ptr thrown;               ///< the same, for the caller
    std::string attribution;                 ///< why the parent gave up on it
    std::optional<process::ChildEnd> ended;  ///< nothing: it lives, or is the caller
    bool signalled = false;                  ///< by the parent, before it ended
    int failed =
        0;  ///< how many members had failed by then, this one included; 0: it has not failed

    bool has_left() const { return returned && ended && ended->code == 0 && ended->signal == 0; }
};

struct FirstFailure {
    int rank = 0;
    std::exception_ptr cause;  ///< null: it died
    /// False if its target threw (other than for a lost member), or it failed after its return.
    bool may_restart = true;
};

/// The member that failed first. A member that failed because it lost another one comes after all
/// others. Returns nothing if no member has failed.
std::optional<FirstFailure> first_failure(std::span<MemberRecord const> members);
RingStatus status_of(MemberRecord const& member);
/// The last lines on standard error of a member that died; empty if there are none.
std::string stderr_tail(MemberRecord const& member);

}  // namespace sinew::ring
