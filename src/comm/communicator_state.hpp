// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include <sinew/communicator.hpp>

#include "collectives/channel.hpp"
#include "collectives/schedule/scratch.hpp"
#include "collectives/tuning/tuners.hpp"
#include "src/comm/black_box/operation_log.hpp"
#include "src/comm/collective/invocation.hpp"
#include "src/comm/node_domains.hpp"
#include "src/comm/progress/engine.hpp"
#include "src/comm/progress/failure_detector.hpp"
#include "src/comm/progress/progress_policy.hpp"
#include "src/comm/tune_mode.hpp"
#include "src/node_memory/arena/arena.hpp"

namespace sinew::detail {

/// The tags of a transport: three internal ones, then the user's.
inline constexpr int collective_tag = 0;
inline constexpr int detector_tag = 1;
inline constexpr int shrink_tag = 2;
inline constexpr int first_user_tag = 3;

/// The settings that all communicators of a job share: those of rank 0 (see adopt_settings).
struct CommonSettings {
    Deadlines deadlines;                           ///< SINEW_TIMEOUT, SINEW_LATE_TIMEOUT
    bool check;                                    ///< SINEW_CHECK
    bool calibrate = true;                         ///< SINEW_CALIBRATE
    bool node_memory = true;                       ///< SINEW_NODE_MEMORY
    std::string forced_algorithms;                 ///< SINEW_ALGORITHM
    bool timeline = false;                         ///< SINEW_TIMELINE is set
    TuneMode tune = TuneMode::off;                 ///< SINEW_TUNE
    DomainLevel domains = DomainLevel::automatic;  ///< SINEW_NODE_DOMAINS
    bool oversubscribed = false;  ///< more ranks on this node than CPUs that they may use

    static CommonSettings from_environment();
};

/// A point-to-point call: sends `out` to `to` and receives `in` from `from`, either of which may be
/// absent.
struct PointToPoint {
    std::optional<ConstBuffer> out = std::nullopt;
    int to = -1;
    std::optional<Buffer> in = std::nullopt;
    int from = -1;
    int tag = 0;
    CallOptions options = {};

    std::string text() const;
};

class DeviceMessage;
class DevicePaths;
class MessageTickets;
struct PersistentCall;
struct ShortCall;
class ShortKernels;
class Shrinking;
struct DeviceSide;
enum class Returns : bool;

/// Implements Communicator: runs invocations over a transport, one after the other, in the caller's
/// thread or in a fiber of the engine. After a failure all further calls throw it again.
class CommunicatorState : public std::enable_shared_from_this<CommunicatorState> {
public:
    /// `localities` are those of all ranks. `name` is the same on all ranks (see OperationLog).
    CommunicatorState(std::unique_ptr<Transport> transport, NodeLayout nodes,
                      std::shared_ptr<Engine> engine, std::shared_ptr<collectives::Tuners> tuners,
                      CommonSettings const& settings, std::vector<Locality> localities,
                      std::shared_ptr<node_memory::Arena> arena, std::string name = "world");
    CommunicatorState(CommunicatorState const&) = delete;
    CommunicatorState& operator=(CommunicatorState const&) = delete;
    ~CommunicatorState();

    Transport& transport() const { return *transport_; }
    NodeLayout const& nodes() const { return nodes_; }
    collectives::Tuner const& tuner() const { return *tuner_; }
    /// Null if no measured calls correct the tuner.
    collectives::Refinement* refinement() const { return refinement_.get(); }

    /// The ranks and the memory that they share, as far as the choice of algorithms depends on them.
    /// Thread-safe.
    collectives::Shape shape() const {
        bool const memory = shares_memory_.load(std::memory_order_relaxed);
        bool const one = nodes_.nodes() == 1;
        return {.ranks = transport_->size(), .shared = memory && one, .by_node = memory && !one};
    }

    /// Whether all collectives pass through the memory of one node, whose bits do not depend on how a
    /// vector is divided into calls. The same on all ranks; to be called after the first collective.
    bool reduces_in_memory() const {
        return room_ != nullptr && nodes_.nodes() == 1 && settings_.forced_algorithms.empty();
    }

    /// Which ranks of this node a collective takes for near each other, and from which size on, as text.
    std::string explain_domains(Collective collective) const;

    /// Allocates zeroed memory, aligned to a page, and tells whether the ranks of this node share
    /// it. Throws std::bad_alloc. Thread-safe.
    std::pair<std::shared_ptr<void>, bool> allocate(std::size_t bytes) const;

    /// Run a call over the node's memory at once, without the preparations that messages need; the
    /// first ones only if it is short. Return false, and do nothing, if the call cannot be run like
    /// this or is wrong: `run` then performs or refuses it.
    bool allreduce_at_once(ConstBuffer const& in, Buffer const& out, ReduceOp const& op,
                           CallOptions const& options);
    bool reduce_at_once(ConstBuffer const& in, Buffer const& out, ReduceOp const& op, int root,
                        CallOptions const& options);
    bool scan_at_once(ConstBuffer const& in, Buffer const& out, ReduceOp const& op,
                      CallOptions const& options);
    bool broadcast_at_once(Buffer const& data, int root, CallOptions const& options);
    bool gather_at_once(ConstBuffer const& in, Buffer const& out, bool in_place, int root,
                        CallOptions const& options);
    bool scatter_at_once(ConstBuffer const& in, Buffer const& out, bool in_place, int root,
                         CallOptions const& options);
    bool allgather_at_once(ConstBuffer const& in, Buffer const& out, bool in_place,
                           CallOptions const& options);
    bool alltoall_at_once(ConstBuffer const& in, Buffer const& out, CallOptions const& options);
    bool reduce_scatter_at_once(ConstBuffer const& in, Buffer const& out, Parts const& parts,
                                ReduceOp const& op, CallOptions const& options);
    bool reduce_scatter_block_at_once(ConstBuffer const& in, Buffer const& out, ReduceOp const& op,
                                      CallOptions const& options);
    bool barrier_at_once(CallOptions const& options);
    bool run_at_once(Invocation const& call);

    /// Begin a short non-blocking call over the node's memory without the engine. Return nothing, and
    /// do nothing, if the call cannot be begun like this or is wrong: `start` then begins or refuses it.
    std::optional<Request> post_allreduce(ConstBuffer in, Buffer out, ReduceOp const& op,
                                          CallOptions const& options);
    std::optional<Request> post_broadcast(Buffer data, int root, CallOptions const& options);
    std::optional<Request> post_barrier(CallOptions const& options);

    /// `refusal` is the error of a call that the caller has found to be wrong already.
    void run(Invocation const& call, Refusal const* refusal = nullptr);
    Request start(Invocation const& call);
    /// Checks a call that will be started later, maybe many times. Not collective: throws UsageError,
    /// and the communicator stays usable.
    PersistentRequest make_persistent(Invocation const& call);
    Request start(PersistentCall& call);
    Received run(PointToPoint const& message);
    Request start(PointToPoint const& message);

    /// Collective. Returns null without a color: the rank joins no part.
    std::shared_ptr<CommunicatorState> split(std::optional<int> color, int key);
    /// See Communicator::shrink. `limit` 0: that of the settings.
    std::shared_ptr<CommunicatorState> shrink(std::chrono::nanoseconds limit);

    CommonSettings const& settings() const { return settings_; }
    /// Records this communicator's operations, and those of communicators that are made from it from
    /// now on; null: no longer. Not during a call. Returns false if another recorder is in use.
    bool set_timeline(std::shared_ptr<TimelineRecorder> recorder) {
        if (recorder != nullptr && log_.recorder() != nullptr) return false;
        log_.set_recorder(std::move(recorder));
        return true;
    }
    /// Null: nothing is recorded.
    TimelineRecorder* timeline() const { return log_.recorder().get(); }

    /// Returns the limits for a call. A timeout in its options applies to late ranks, too.
    Deadlines deadlines_of(CallOptions const& options) const {
        return options.timeout.count() > 0 ? Deadlines{options.timeout, options.timeout}
                                           : settings_.deadlines;
    }
    /// Returns whether a failure has ended this communicator.
    bool lost() const { return lost_.load(std::memory_order_acquire); }
    /// Ends this communicator, and notifies the peers.
    void abandon(std::string const& reason) noexcept;
    /// Throws the failure that has ended this communicator, also that of a call which nobody waits for.
    /// Thread-safe.
    void throw_if_lost();
    /// Whether collectives on the memory of GPUs pass through NCCL, as far as it can perform them. The
    /// ranks agree on that in the first such call; before, it is false. Thread-safe.
    bool uses_nccl() const;

private:
    struct Busy;
    class MemoryWaiter;
    template <class Record>
    class MemoryCall;
    class PostedCalls;
    friend class DeviceMessage;

    /// Whether this rank performs a call, or has refused it and only reports that to the others.
    enum class Role : std::uint8_t { performs, refuses };

    /// Whether a call may pass through the room, in the caller's thread, now or after posted calls.
    [[gnu::always_inline]] bool may_use_room(CallOptions const& options) const {
        // A pending call may be making the room, in another thread.
        return pending_.load(std::memory_order_acquire) == 0 && calls_over_memory_ &&
               !busy_.load(std::memory_order_relaxed) && !lost() && options.timeout.count() == 0 &&
               options.algorithm.empty() && options.stream == nullptr && options.after == nullptr &&
               options.memory != Memory::device;
    }
    /// The same now: ends the posted calls.
    [[gnu::always_inline]] bool can_run_at_once(CallOptions const& options) {
        if (!may_use_room(options)) return false;
        if (posted_) end_posted_calls(nullptr);
        return true;
    }
    std::optional<Request> post(ShortCall const& call);
    /// Returns how a call that is right passes through the room if it is short.
    std::optional<ShortCall> short_call_of(Invocation const& call) const;
    /// Waits until posted calls have ended. `operation` is the one whose fiber waits, or null.
    void end_posted_calls(Operation* operation);
    /// A reduce_scatter in blocks of `counts`, or a reduce_scatter_block.
    bool reduce_scatter_at_once(Collective collective, ConstBuffer const& in, Buffer const& out,
                                std::span<std::size_t const> counts, ReduceOp const& op,
                                CallOptions const& options);
    /// Returns why a call is refused. Sets `device` if its buffers are in the memory of a GPU.
    std::optional<Refusal> fault_of(Invocation const& call, Returns returns,
                                    std::shared_ptr<DeviceSide const>& device) const;
    std::shared_ptr<Operation> submit(std::shared_ptr<OwnedInvocation const> owned, Role role);
    void execute(Invocation const& call, Operation* operation, Role role);
    void open_room(node_memory::RoomPlace const& place);
    void make_room(collectives::Channel& channel);
    void perform_on_device(Invocation const& call, collectives::Channel& channel,
                           ProgressPolicy& policy, std::uint64_t sequence);
    void make_rooms_of_nodes(collectives::Channel& channel);
    void compare_fingerprints(collectives::Channel& channel, Invocation const& call,
                              std::uint64_t sequence, Role role);
    /// Throws the error of a call that this rank refuses. With SINEW_CHECK `tell_others` makes the
    /// other ranks throw, too; otherwise the communicator is lost if they may be in the call.
    template <class TellOthers>
    [[noreturn]] void refuse(Refusal const& refusal, TellOthers const& tell_others);
    Received transfer(PointToPoint const& message);
    Received run_on_device(DeviceMessage& message);
    Request start_on_device(std::shared_ptr<DeviceMessage> message);
    ProgressPolicy message_policy(PointToPoint const& message, Operation* operation);
    void await(MessageTickets& tickets, PointToPoint const& message, Operation& self);
    void check_message(PointToPoint const& message) const;
    ProgressPolicy::Pace const& pace() const { return pace_; }
    void remember_loss(std::exception_ptr error) noexcept;
    /// Makes a communicator of `members`, which all do the same and have agreed on the lane.
    std::shared_ptr<CommunicatorState> make_part(std::vector<int> const& members,
                                                 std::uint64_t lane, std::string name);
    void agree_on_survivors(std::chrono::nanoseconds limit);

    std::unique_ptr<Transport> transport_;
    NodeLayout nodes_;
    std::shared_ptr<Engine> engine_;
    CommonSettings settings_;
    ProgressPolicy::Pace pace_;
    ShortKernels const& kernels_;
    std::shared_ptr<collectives::Tuners> tuners_;
    std::shared_ptr<collectives::Tuner> tuner_;
    std::unique_ptr<collectives::Refinement> refinement_;
    collectives::RingOrder ring_;
    collectives::Scratch scratch_;
    OperationLog log_;
    FailureDetector detector_;
    std::vector<Locality> localities_;           // by rank
    NodeDomains domains_;                        // of this node's ranks
    std::shared_ptr<node_memory::Arena> arena_;  // null: this node's ranks share no memory
    std::unique_ptr<node_memory::Room> room_;  // of this node's ranks, made by the first collective
    std::unique_ptr<collectives::NodeGroups> groups_;  // if several nodes have rooms
    std::unique_ptr<PostedCalls> posted_;              // made by the first call that is posted
    bool may_have_room_ = false;
    std::atomic<bool> shares_memory_{false};  // read while the engine makes the room
    bool calls_over_memory_ = false;          // they need no check and no choice of an algorithm
    std::atomic<bool> busy_{false};
    std::atomic<int> pending_{0};  // non-blocking collectives submitted and not ended
    std::atomic<bool> lost_{false};
    mutable std::mutex lost_mutex_;
    std::exception_ptr loss_;               // guarded by lost_mutex_
    std::unique_ptr<DevicePaths> devices_;  // made by the first collective on the memory of a GPU
    std::atomic<DevicePaths*> devices_seen_{nullptr};  // the same, for other threads
    std::unique_ptr<Shrinking> shrinking_;             // since the first call of shrink
    bool shrunk_ = false;
};

}  // namespace sinew::detail
