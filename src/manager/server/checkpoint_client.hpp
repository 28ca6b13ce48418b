// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <sinew/manager/persistence.hpp>
#include <sinew/remote_error.hpp>
#include <string>
#include <unordered_map>
#include <vector>

#include "src/manager/restart/incarnation.hpp"
#include "src/manager/server/output_commit.hpp"
#include "src/process/rpc/messenger.hpp"

namespace sinew::manager {

/// What a thread has executed of one object, and is to answer.
struct Executed {
    ObjectId object = 0;
    void* instance = nullptr;
    Call const* making = nullptr;  ///< it has been made
    std::uint64_t calls = 0;       ///< of methods
    Saves saves = Saves::no;
    std::vector<Answer> const& answers;
    Writer const& bytes;
};

/// A manager's side of being started anew: tells its supervisor of its objects, and lets answers leave when
/// what they tell of is kept. Everything with the guard held, but `executed`.
class CheckpointClient {
public:
    struct Callbacks {
        std::function<void(HeldReplies const&)> send;
        std::function<void(ObjectId, Call)> append;  ///< a call, in the object's turn
    };
    CheckpointClient(process::Messenger& messenger, Incarnation line, Callbacks callbacks);
    CheckpointClient(CheckpointClient const&) = delete;

    Incarnation const& line() const { return line_; }
    /// An object that is to be made; again: the supervisor knows of it.
    void add(ObjectId object, detail::TaskEntry const& supervisor, std::uint64_t parallel,
             bool again);
    /// One that this thread has made within a call, whose answer then waits until it is kept.
    void made_here(ObjectId object, std::span<std::byte const> arguments);
    void ended(ObjectId object);
    void named(ObjectId object, std::string const& name,
               std::shared_ptr<HeldReplies> const& answer);
    void detached(ObjectId object, std::shared_ptr<HeldReplies> const& answer);
    bool can_save(ObjectId object) const { return commit_.can_save(object); }
    /// The supervisor has it.
    void kept(OutputCommit::Record record);
    /// The supervisor has it, but not where it was to be, too: what depends on it fails.
    void not_kept(OutputCommit::Record record, std::string const& why);
    /// To the supervisor: all objects are there again.
    void remade();
    /// The manager ends: nothing is kept any more, and all answers leave.
    void open();

    void executed(Executed const& executed);

private:
    struct Object {
        detail::TaskEntry const* supervisor = nullptr;
        std::uint64_t parallel = 1;
        std::chrono::nanoseconds interval{0};
        process::Clock::time_point saved{};
        bool again = false;
    };
    OutputCommit::Record tell(Op op, ObjectId object, std::span<std::byte const> bytes);
    OutputCommit::Record tell_made(ObjectId object, std::span<std::byte const> arguments);
    void send(Op op, std::uint64_t number, std::shared_ptr<Writer const> const& record);
    void save(process::Lock& lock, Executed const& executed, Object const& object,
              OutputCommit::Record record);
    static void turn_into_failures(HeldReplies& held, ErrorRecord const& error);
    void look_at_intervals();

    process::Messenger& messenger_;
    Incarnation const line_;
    Callbacks const callbacks_;
    std::shared_ptr<process::Peer> const supervisor_;
    OutputCommit commit_;
    std::unordered_map<ObjectId, Object> objects_;
    wire::Loop::Handle watch_;
    std::chrono::nanoseconds period_{0};
    bool open_ = false;
};

}  // namespace sinew::manager
