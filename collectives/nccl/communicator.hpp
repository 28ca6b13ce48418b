// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "collectives/nccl/abi.hpp"
#include "collectives/nccl/library.hpp"
#include "src/base/gpus/cuda_driver.hpp"
#include "src/base/waiting/deadlines.hpp"

namespace sinew::collectives::nccl {

struct Core;

/// What a task may do while the owner thread runs it: NCCL calls and copies on the task's stream.
class Calls {
public:
    Calls(Core& core, Stream stream) : core_(core), stream_(stream) {}
    Functions const& nccl() const;
    Handle comm() const;
    Stream stream() const { return stream_; }
    Library const& library() const;
    /// Throws BackendError unless the call has succeeded or goes on.
    void check(int result, char const* function) const;
    /// Waits until NCCL has launched the calls made so far, which it does in the background. Throws
    /// BackendError.
    void settle() const;
    /// Copies within the memory of the device. The two must not overlap.
    void copy(void* to, void const* from, std::size_t bytes) const;
    /// Returns the operation that multiplies by 1/ranks, then sums: the average.
    int average(int type) const;
    /// Returns device memory for this task, which it shares with no other one. Not inside a capture.
    void* scratch(std::size_t bytes) const;

private:
    Core& core_;
    Stream stream_;
};

/// One operation of a communicator.
struct Task {
    std::string what = {};    ///< for errors: "rank 0 of 3 on node-a: allreduce(f32 x 10, sum) #5"
    Stream stream = nullptr;  ///< null: the communicator's own
    /// The operation begins after this event, which it keeps; may be null.
    std::shared_ptr<void> after = nullptr;
    /// Issues the calls. Anything that it throws loses the communicator.
    std::function<void(Calls&)> issue = {};
    bool captured = false;  ///< the stream is being captured: no events, no deadline
    /// The deadlines that the owner thread enforces. Without them the caller waits for the operation
    /// and enforces its own.
    std::optional<sinew::detail::Deadlines> watch = std::nullopt;
};

/// The progress of a task. Thread-safe.
class Work {
public:
    enum class Phase : unsigned char {
        queued,    ///< the owner thread has not issued it yet
        enqueued,  ///< it is on its stream
        done,      ///< the device has completed it (never reported for captured ones)
        failed,    ///< the communicator was lost
    };
    virtual ~Work() = default;
    virtual Phase phase() const = 0;
    bool is_enqueued() const { return phase() != Phase::queued; }
    bool has_ended() const { return phase() >= Phase::done; }
};

/// What the watchdog asks about the other ranks. Called by the owner thread.
class Peers {
public:
    struct Findings {
        std::string text;        ///< which ranks are late, silent, dead, or in another call
        bool only_late = false;  ///< all ranks answer, so the missing ones may still come
        bool all_came = false;   ///< no rank is missing
    };
    virtual ~Peers() = default;
    /// Returns why the communicator cannot continue, if that is known.
    virtual std::optional<std::string> trouble() = 0;
    /// Asks all ranks; takes about 1 s at most.
    virtual Findings investigate() = 0;
};

/// One rank's end of an NCCL communicator that never blocks its callers.
///
/// A thread of its own, the owner, makes every NCCL call: it starts the communicator, issues the
/// tasks in the order of `submit`, polls NCCL's asynchronous errors (after 1 ms, then less and less
/// often, to every 50 ms), asks the device which tasks have ended, and enforces the deadlines of those
/// that nobody waits for. The first failure ends the communicator: another thread revokes it (NCCL
/// 2.28.7 or later) or aborts it, so that a call in which the owner is stuck ends too. If that takes
/// longer than `ending`, the communicator and its threads are left behind, and a warning says so.
///
/// Thread-safe. The destructor waits for the tasks at most `ending`, and as long again to abort.
class Communicator {
public:
    struct Setup {
        Library const* library;
        CudaDriver const* driver;
        CudaDriver::Context context;  ///< that of the device
        UniqueId id;                  ///< the same on all ranks
        int rank;
        int ranks;
        std::string self;        ///< "rank 0 of 3 on node-a", for errors
        Peers* peers = nullptr;  ///< lives longer than the communicator; may be null
        std::chrono::nanoseconds ending = std::chrono::seconds(10);
    };
    enum class State : unsigned char { connecting, ready, lost };

    /// Returns at once; see state(). Throws std::system_error if there is no thread.
    explicit Communicator(Setup const& setup);
    Communicator(Communicator const&) = delete;
    Communicator& operator=(Communicator const&) = delete;
    ~Communicator();

    State state() const;
    /// Gives the owner a task. If the communicator is lost, the work has failed already.
    std::shared_ptr<Work const> submit(Task task);
    /// Ends the communicator because of `reason`, unless it has ended before. Returns at once.
    void lose(std::exception_ptr reason);
    /// Waits until NCCL uses no buffer any more, after the communicator was lost; at most `ending`.
    /// Returns false if it still may.
    bool await_end();
    /// The first failure; null while there is none.
    std::exception_ptr failure() const;

private:
    std::shared_ptr<Core> core_;
    std::thread owner_;
};

}  // namespace sinew::collectives::nccl
