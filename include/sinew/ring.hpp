// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <concepts>
#include <exception>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <sinew/detail/ring_call.hpp>
#include <sinew/error.hpp>
#include <sinew/meta.hpp>
#include <sinew/node.hpp>
#include <sinew/ring_member.hpp>

namespace sinew {

/// Options of a Ring.
struct RingOptions {
    std::string name = {};  ///< shown in messages and by ps; empty: "ring-1", "ring-2", ...
    /// The nodes on which the members run, see Nodes: an equal share on each, with consecutive
    /// ranks. Empty: this host. A node that is lost is not used after a restart.
    std::vector<Node> nodes = {};
    /// Resources that each member process gets. Default: those that the target names; see meta_of.
    Meta meta = {};
    /// Rank 0 is the thread that calls run(), as in Fiber. The environment of this process is that
    /// of a member meanwhile. This member cannot be ended: run() does not return before its target
    /// does.
    bool member_zero_is_caller = false;
    /// How many times the whole ring is restarted after it has lost a member. An exception of a
    /// member does not cause a restart.
    int max_restarts = 0;
    /// A folder that keeps the last commit on disk, so that it outlives this process; see
    /// RingMember::commit. A ring of the same size that begins with a folder which has a commit
    /// continues from it. The folder is created for this user alone and used by one ring at a time.
    /// Empty: commits are kept in memory only.
    std::string folder = {};
    /// Time limit until all members have joined.
    std::chrono::nanoseconds start_timeout = std::chrono::seconds(60);
    /// Time between SIGTERM and SIGKILL for the other members when one has failed.
    std::chrono::nanoseconds grace = std::chrono::seconds(1);
    /// A member whose process shows no sign of life for this long (stopped or swapped out, not just
    /// busy) is killed and counts as failed. 0: no limit.
    std::chrono::nanoseconds silence = std::chrono::seconds(60);
};

/// The end of one member.
struct RingStatus {
    int rank = 0;
    std::string host;
    pid_t pid = 0;
    std::string end;  ///< "returned", "killed by signal 9 (Killed)", "threw std::bad_alloc: ..."
};

/// Thrown when a member has failed and all others have been ended. what() names rank, host, pid and
/// reason.
class RingFailed : public Error {
public:
    RingFailed(std::string const& what, RingStatus culprit, std::vector<RingStatus> statuses,
               std::exception_ptr cause)
        : Error(what), culprit_(std::move(culprit)), statuses_(std::move(statuses)),
          cause_(std::move(cause)) {}
    /// Rank, host, pid and end of the member that failed first.
    int rank() const noexcept { return culprit_.rank; }
    std::string const& host() const noexcept { return culprit_.host; }
    pid_t pid() const noexcept { return culprit_.pid; }
    std::string const& reason() const noexcept { return culprit_.end; }
    /// The ends of all members, by rank.
    std::vector<RingStatus> const& statuses() const noexcept { return statuses_; }
    /// The exception that the member threw, by its std type if that is known (see
    /// remote_error.hpp); null if the member died.
    std::exception_ptr const& cause() const noexcept { return cause_; }

private:
    RingStatus culprit_;
    std::vector<RingStatus> statuses_;
    std::exception_ptr cause_;
};

/// A number of equal processes of this program that have a communicator. main() must begin with
/// sinew::init(argc, argv).
///
///     sinew::Ring ring(4, [](sinew::RingMember& me, std::uint64_t seed) { ... },
///                      [](sinew::RingMember& me) { train(me.communicator()); }, {}, seed);
///     ring.run();
///
/// Each member runs `init`, with the arguments after the options, then `target`. Both are lambdas
/// without captures, sinew::task<function> or serializable function objects. They take
/// (RingMember&), Fiber's (int rank, int size), or nothing; return values are dropped.
///
/// The members end with this process, however it ends, and have separate process groups.
/// Environment, failures and restarts: docs/ring.md. Not thread-safe.
class Ring {
public:
    /// Encodes the functions and arguments; run() starts the members.
    template <class Init, class Target, class... InitArgs>
    requires(!std::same_as<Init, RingOptions> && !std::same_as<Target, RingOptions>)  //
        Ring(int size, Init const& init, Target const& target, RingOptions options = {},
             InitArgs const&... initargs)
        : Ring(size, std::move(options),
               Entries{&detail::RingCall<Init, std::decay_t<InitArgs const>...>::entry(),
                       &detail::RingCall<Target>::entry()}) {
        using InitCall = detail::RingCall<Init, std::decay_t<InitArgs const>...>;
        InitCall::encode_function(init_state(), init);
        InitCall::encode_arguments(arguments(), initargs...);
        detail::RingCall<Target>::encode_function(target_state(), target);
    }
    /// A ring without `init`.
    template <class Target>
    requires(!std::same_as<Target, RingOptions>)  //
        explicit Ring(int size, Target const& target, RingOptions options = {})
        : Ring(size, std::move(options), Entries{nullptr, &detail::RingCall<Target>::entry()}) {
        detail::RingCall<Target>::encode_function(target_state(), target);
    }
    Ring(Ring&&) noexcept;
    Ring& operator=(Ring&&) noexcept;
    ~Ring();

    /// Starts the members and blocks until all have returned. Returns their statuses, by rank.
    /// Throws RingFailed if a member died, threw or did not join, after the others have been ended
    /// (within two seconds, at the latest by SIGKILL); SystemError if there are no more processes
    /// or descriptors, or if RingOptions::folder cannot be read; UsageError if sinew::init was not
    /// called, or if the folder belongs to another ring or to a ring of another size; DecodeError
    /// if the folder's contents are damaged. May be called again.
    std::vector<RingStatus> run();

    int size() const;
    std::string const& name() const;
    /// How many times the last run was restarted.
    int restarts() const;

private:
    struct State;
    struct Entries {
        detail::TaskEntry const *init, *target;
    };
    Ring(int size, RingOptions options, Entries const& entries);
    Writer& init_state();
    Writer& target_state();
    Writer& arguments();
    std::unique_ptr<State> state_;
};

}  // namespace sinew
