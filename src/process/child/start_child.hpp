// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sched.h>
#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <sinew/meta.hpp>
#include <string>
#include <utility>
#include <vector>

#include "src/process/runtime.hpp"

namespace sinew::process {

/// How a child ended.
struct ChildEnd {
    int code = 0;    ///< of its exit
    int signal = 0;  ///< that killed it; 0: it exited
    /// By the kernel's out-of-memory killer, as its cgroup tells; or over its Meta::memory_mib.
    bool out_of_memory = false;
    std::string log;        ///< the last lines of its standard error, up to 4 KiB
    std::string why = {};   ///< it was killed for its memory, with the numbers
    std::string fate = {};  ///< where none of these tells: "is lost with its host node-b (...)"
    /// "killed by signal 9 (Killed)", "exited with code 3".
    std::string text() const;
};

/// What leases are counted on, the same for all processes of a host: goes on while it is suspended.
std::int64_t lease_clock_ns();

/// A word that outlives its writer: shared memory that a child writes and its parent reads after the
/// child's death. Which of its tasks it is at, and whether it ended itself, and why.
struct StatusPage {
    std::atomic<std::uint64_t> running;  ///< the worker's to define; all bits set: nothing
    std::atomic<std::uint64_t> verdict;  ///< 0: none; the worker's to define
    /// By lease_clock_ns: the child must be at nothing from then on. 0: there is no such time. The
    /// parent's to write; that it is read, and obeyed, is up to the role.
    std::atomic<std::int64_t> lease_until;
    bool lease_is_over() const {
        auto const until = lease_until.load(std::memory_order_relaxed);
        return until != 0 && lease_clock_ns() > until;
    }
};

struct ChildSpec {
    std::string role;  ///< "process", "pool worker": which function of the child's table it runs
    std::string name;  ///< for people and for ps: "sinew pool worker 3"
    std::vector<std::byte> message;  ///< what its role needs to begin
    std::optional<cpu_set_t> cpus;   ///< that it may use; those of `meta` are some of them
    std::vector<std::string> env;    ///< "NAME=value" beside or instead of ours
    std::optional<wire::Secret> session = {};  ///< which it belongs to, if not to ours
    std::string network = {};      ///< this host's address in it; empty: as the runtime has it
    Meta meta = {};                ///< it has so much of this host, and no more
    std::int64_t lease_until = 0;  ///< of its StatusPage, from the beginning
    bool watched = true;           ///< `liveness` is told; else nothing is sent for it either
};

/// A process running this same executable, linked to us by two inherited socket pairs: `control`
/// for all that must be quick, `bulk` for large payloads. It dies with us, whatever happens to us.
class Child {
public:
    struct Callbacks {
        std::function<void(wire::Message const&)> control, bulk;
        /// After `drained` of the bulk link.
        std::function<void()> bulk_drained = [] {};
        /// Silent for a while, though it lives; and back again.
        std::function<void(wire::Liveness)> liveness = [](wire::Liveness) {};
        /// Last: it has been reaped, and all it had sent has been delivered.
        std::function<void(ChildEnd const&)> ended;
    };
    virtual ~Child() = default;  ///< kills it without a call
    virtual void on(Callbacks callbacks) = 0;
    virtual pid_t pid() const = 0;
    virtual wire::Link& control() = 0;
    virtual wire::Link& bulk() = 0;
    /// Whether messages of `bulk` wait, the child with them. When it has ended they come all the same.
    virtual void hold_bulk(bool hold) = 0;
    virtual StatusPage& status() const = 0;
    /// To the process itself.
    virtual void signal(int number) = 0;
    /// Readable when it has ended. Stays the child's.
    virtual int sentinel() const = 0;
};

/// Starts it: exec of /proc/self/exe on a thread that lasts (so that the parent-death signal means
/// the process), environment with SINEW_CHILD naming the inherited descriptors, the session's secret
/// and `message` in the first frame of the control link. With the guard held. Throws SystemError,
/// and UsageError when sinew::init() was not called in main (a child would run the whole program);
/// for `meta`, see ResourceReservation.
std::unique_ptr<Child> start_child(ChildSpec const& spec);

/// Names and pids of those that have not ended. With the guard held.
std::vector<std::pair<std::string, pid_t>> living_children();

}  // namespace sinew::process
