// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <sinew/manager/persistence.hpp>
#include <sinew/remote_error.hpp>
#include <string>
#include <unordered_map>
#include <vector>

#include "src/manager/restart/incarnation.hpp"
#include "src/manager/server/output_commit.hpp"
#include "src/process/rpc/messenger.hpp"

namespace sinew::manager {

/// Calls of one object that a thread has executed, and their answers.
struct Executed {
    ObjectId object = 0;
    void* instance = nullptr;
    Call const* making = nullptr;  ///< the call that made it
    std::uint64_t calls = 0;       ///< of methods
    Saves saves = Saves::no;
    std::vector<Answer> const& answers;
    Writer const& bytes;
};

/// The manager's side of checkpoints: sends records of its objects to the supervisor, and releases
/// answers when the records that they depend on are kept. All methods but `executed` with the guard
/// held.
class CheckpointClient {
public:
    struct Callbacks {
        std::function<void(HeldReplies const&)> send;
        std::function<void(ObjectId, Call)> append;  ///< adds a call, in the object's order
    };
    CheckpointClient(process::Messenger& messenger, Incarnation incarnation, Callbacks callbacks);
    CheckpointClient(CheckpointClient const&) = delete;

    Incarnation const& incarnation() const { return incarnation_; }
    /// Adds an object that is to be made. `again`: the supervisor knows it.
    void add(ObjectId object, detail::TaskEntry const& constructor, std::uint64_t parallel,
             bool again);
    /// Adds an object that this thread has made within a call; the answer of that call waits until
    /// the object is kept.
    void made_here(ObjectId object, std::span<std::byte const> arguments);
    void ended(ObjectId object);
    void named(ObjectId object, std::string const& name,
               std::shared_ptr<HeldReplies> const& answer);
    void detached(ObjectId object, std::shared_ptr<HeldReplies> const& answer);
    bool can_save(ObjectId object) const { return commit_.can_save(object); }
    /// The supervisor has the record.
    void kept(OutputCommit::Record record);
    /// The supervisor has the record, but could not write it: answers that depend on it become
    /// failures.
    void not_kept(OutputCommit::Record record, std::string const& why);
    /// Tells the supervisor that all objects exist again.
    void remade();
    /// The manager ends: nothing is kept any more, and all answers leave.
    void open();

    void executed(Executed const& executed);

private:
    struct Object {
        detail::TaskEntry const* constructor = nullptr;
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
    Incarnation const incarnation_;
    Callbacks const callbacks_;
    std::shared_ptr<process::Peer> const supervisor_;
    OutputCommit commit_;
    std::unordered_map<ObjectId, Object> objects_;
    wire::Loop::Handle watch_;
    std::chrono::nanoseconds period_{0};
    bool open_ = false;
};

}  // namespace sinew::manager
