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
    /// Killed by the kernel for lack of memory, as its cgroup reports, or for exceeding
    /// Meta::memory_mib.
    bool out_of_memory = false;
    std::string log;         ///< the last lines of its standard error, up to 4 KiB
    std::string why = {};    ///< with the numbers, if it was killed for its memory
    std::string fate = {};   ///< if the above do not say it: "is lost with its host node-b (...)"
    bool lost = false;       ///< with its host: its exit code and status page are not known
    bool withdrawn = false;  ///< it was killed because its node was given back
    /// "killed by signal 9 (Killed)", "exited with code 3".
    std::string text() const;
};

/// The clock of leases. It is the same for all processes of a host, and runs while the host is
/// suspended.
std::int64_t lease_clock_ns();

/// Shared memory that a child writes and its parent reads after the child's death: which task it
/// was executing, and whether and why it ended itself.
struct StatusPage {
    std::atomic<std::uint64_t> running;  ///< defined by the worker; all bits set: no task
    std::atomic<std::uint64_t> verdict;  ///< 0: none; defined by the worker
    /// By lease_clock_ns: the child must not execute anything afterwards. 0: no limit. Written by
    /// the parent; the role must read and obey it.
    std::atomic<std::int64_t> lease_until;
    bool lease_is_over() const {
        auto const until = lease_until.load(std::memory_order_relaxed);
        return until != 0 && lease_clock_ns() > until;
    }
};

struct ChildSpec {
    std::string role;  ///< which function of the child's table it runs: "process", "pool worker"
    std::string name;  ///< for messages and for ps: "sinew pool worker 3"
    std::vector<std::byte> message;  ///< what its role needs to begin
    std::optional<cpu_set_t> cpus;   ///< that it may use; those of `meta` are taken from them
    std::vector<std::string> env;    ///< "NAME=value" added to or replacing ours
    std::string folder = {};         ///< working directory; empty: ours
    std::string out =
        {};  ///< file to which standard output is appended; empty: ours. From `folder`
    std::optional<wire::Secret> session = {};  ///< to join; nothing: ours
    std::string network = {};      ///< this host's address in it; empty: as the runtime has it
    Meta meta = {};                ///< resources reserved for it
    std::int64_t lease_until = 0;  ///< of its StatusPage, from the beginning
    bool watched = true;           ///< `liveness` is reported; otherwise no heartbeats are sent
};

/// A process that runs this same executable, linked to this one by two inherited socket pairs:
/// `control` for urgent messages, `bulk` for large payloads. The child is killed when
/// this process ends, in whatever way.
class Child {
public:
    struct Callbacks {
        std::function<void(wire::Message const&)> control, bulk;
        /// After `drained` of the bulk link.
        std::function<void()> bulk_drained = [] {};
        /// The child lives, but has been silent for a while; or it responds again.
        std::function<void(wire::Liveness)> liveness = [](wire::Liveness) {};
        /// Called last: the child has been reaped, and all its messages were delivered.
        std::function<void(ChildEnd const&)> ended;
    };
    virtual ~Child() = default;  ///< kills the child without callbacks
    /// Must be called before the guard, with which the child was started, is released.
    virtual void on(Callbacks callbacks) = 0;
    virtual pid_t pid() const = 0;
    virtual wire::Link& control() = 0;
    virtual wire::Link& bulk() = 0;
    /// Holds back messages of `bulk`, and so the child; after its end they are delivered in any
    /// case.
    virtual void hold_bulk(bool hold) = 0;
    virtual StatusPage& status() const = 0;
    /// Sends a signal to the process itself.
    virtual void signal(int number) = 0;
    /// A descriptor that is readable when the child has ended. It belongs to the child.
    virtual int sentinel() const = 0;
};

/// Starts a child: exec of /proc/self/exe on a thread that lives as long as this process, with
/// SINEW_CHILD naming the inherited descriptors in its environment, and the session's secret and
/// `message` in the first frame of the control link. Requires: guard held. Throws SystemError;
/// UsageError if sinew::init() was not called in main (the child would run the whole program); and
/// what ResourceReservation throws for `meta`.
std::unique_ptr<Child> start_child(ChildSpec const& spec);

/// Names and pids of the children that have not ended. Requires: guard held.
std::vector<std::pair<std::string, pid_t>> living_children();

}  // namespace sinew::process
