// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sched.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <limits>
#include <memory>
#include <optional>
#include <sinew/error.hpp>
#include <span>
#include <string>

#include "src/pool/protocol.hpp"
#include "src/process/child/child.hpp"

namespace sinew::pool {

/// How a worker ended, and what it was executing.
struct WorkerEnd {
    process::ChildEnd process;
    Verdict verdict = Verdict::none;
    std::uint64_t running = nothing_running;  ///< its status word
};

/// A worker process as seen by the master, wherever it runs. With the runtime's guard held.
class WorkerHandle {
public:
    struct Callbacks {
        /// Control messages, and results that were transferred in pieces, put together.
        std::function<void(Kind, std::span<std::byte const>)> message;
        std::function<void(bool suspect)> liveness;
        /// Called last: the worker has certainly ended, and all its messages were delivered.
        std::function<void(WorkerEnd const&)> ended;
    };
    virtual ~WorkerHandle() = default;  ///< kills it without callbacks
    virtual void on(Callbacks callbacks) = 0;
    virtual void send(Kind kind, std::initializer_list<std::span<std::byte const>> parts) = 0;
    /// Sends a payload in pieces beside other messages; `keep` holds the bytes until they are sent.
    virtual void transfer(std::uint64_t id, std::span<std::byte const> bytes,
                          std::shared_ptr<void const> keep) = 0;
    virtual void flush() = 0;
    /// By SIGKILL; `ended` follows.
    virtual void kill() = 0;
    /// "pid 4711 on node-b".
    virtual std::string name() const = 0;
};

/// There is no place for a worker at present, but there may be one soon.
class NoPlace : public Unavailable {
public:
    using Unavailable::Unavailable;
};

/// Starts workers somewhere.
class WorkerPlacement {
public:
    virtual ~WorkerPlacement() = default;
    /// With the guard held, on the loop's thread. Throws NoPlace; Error if it cannot be started.
    virtual std::unique_ptr<WorkerHandle> start(std::uint32_t slot, WorkerStart const& start) = 0;
    /// The number of usable cores.
    virtual int cores() const = 0;
    /// How many workers with such a wish find what they want.
    virtual int room(Meta const& wish) const {
        return wish.cpu > 1 ? std::max(1, cores() / wish.cpu) : cores();
    }
    /// Throws UsageError, with the numbers, if there can never be so many workers with such a wish.
    virtual void require(Meta const&, int /*workers*/) const {}
    /// Throws UsageError if no worker can ever be started.
    virtual void require_startable() const {}
    /// How many workers the system's limits allow at once.
    virtual std::uint64_t most() const { return std::numeric_limits<std::uint64_t>::max(); }
    /// No more workers will be started, and all have ended. With the guard held.
    virtual void over() {}

    // If places come and go. With the guard held.
    /// How many of `wanted` workers (nothing: as many as have room) can be there now.
    virtual std::uint32_t present(Meta const& /*wish*/, std::optional<int> wanted) const {
        return static_cast<std::uint32_t>(wanted.value_or(0));
    }
    /// Has `changed` called on the loop's thread when that changes. False: it never does.
    virtual bool watch(std::function<void()> /*changed*/) { return false; }
    /// Why there are no places at present; empty: not known.
    virtual std::string waiting_for() const { return {}; }
    /// Why there will be none any more; empty: there are, or there may be.
    virtual std::string failure() const { return {}; }
};

/// Starts children of this process, on these processors (or those of this process).
std::unique_ptr<WorkerPlacement> make_local_placement(std::optional<cpu_set_t> cpus = {});

}  // namespace sinew::pool
