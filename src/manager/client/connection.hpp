// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "src/manager/client/pending_reply.hpp"
#include "src/manager/protocol.hpp"
#include "src/manager/restart/incarnation.hpp"
#include "src/process/rpc/process_address.hpp"

namespace sinew::manager {

class Server;

/// A manager as seen by a process that calls it, and the calls in flight. All methods with the
/// guard held.
class Connection : public std::enable_shared_from_this<Connection> {
public:
    /// `peer`: null if the manager is this process itself, which `server` serves.
    Connection(process::Messenger& messenger, process::ProcessAddress address,
               std::shared_ptr<process::Peer> peer, Server* server, std::size_t most_pending,
               std::shared_ptr<Incarnation const> incarnation = nullptr);
    Connection(Connection const&) = delete;

    /// Sends a call or a question. Blocks while too many are in flight, except in a callback.
    /// `bytes` of a call begin with a CallHead; its `sequence` is drawn from `row` when it is sent.
    std::shared_ptr<PendingReply> call(process::Lock& lock, Op op, ObjectId object,
                                       detail::TaskEntry const* method, Writer& bytes,
                                       std::uint64_t& row, std::uint32_t gives = 0);
    /// Calls a method of the object that `target` will return. Null: it has arrived by now.
    std::shared_ptr<PendingReply> follow(process::Lock& lock,
                                         std::shared_ptr<PendingReply> const& target,
                                         PipelinedCall pipelined, Writer& bytes);
    /// `target` is ready: sends the pipelined calls of its result to where that is.
    void pass_on(PendingReply& target);
    /// Sends calls that another manager was to execute, without blocking.
    void call_instead(ObjectId object, std::uint64_t& row, PipelinedCall const& pipelined);
    /// At any time, also without the guard. `unused`: an object that was made, and nobody has.
    void forget_later(std::uint64_t number, ObjectId unused);
    std::shared_ptr<PendingReply> ask(process::Lock& lock, Op op, ObjectId object,
                                      std::span<std::byte const> bytes);
    /// Calls without an answer yet.
    void tell(Op op, ObjectId object, std::uint64_t number = 0,
              std::span<std::byte const> bytes = {}, std::uint32_t gives = 0);
    void cancel(ObjectId object, std::uint64_t number) { tell(Op::cancel, object, number); }
    void withdraw(ObjectId object, std::uint64_t number) { tell(Op::recall, object, number); }

    /// Set for a manager of another session when it has answered.
    void introduce(process::ProcessAddress const& itself);

    void message(process::Message const& message);
    std::exception_ptr lost_error(PendingReply const& call, bool maybe_executed) const;
    void lost(std::string const& why);

    process::Messenger& messenger() { return messenger_; }
    process::ProcessAddress const& address() const { return address_; }
    std::string const& name() const { return address_.name; }
    bool here() const { return peer_ == nullptr; }
    bool is_lost() const { return !why_lost_.empty(); }
    std::string const& why_lost() const { return why_lost_; }
    std::size_t most_pending() const { return most_pending_; }
    /// Null: it is not restarted.
    std::shared_ptr<Incarnation const> const& incarnation() const { return incarnation_; }
    void set_incarnation(std::shared_ptr<Incarnation const> incarnation) {
        incarnation_ = std::move(incarnation);
    }
    /// It will not be restarted.
    void set_last() { is_last_ = true; }
    /// How its process died, as its supervisor knows it.
    void set_cause(std::string const& cause);

private:
    /// Used for one call in flight after the other. A call's number is the slot's index and how
    /// many calls the slot had before.
    struct Slot {
        std::shared_ptr<PendingReply> pending;  ///< null: of a one-way call
        std::size_t bytes = 0;
        std::uint32_t round = 0;
        bool taken = false;
    };
    struct Entered {
        std::shared_ptr<PendingReply> pending;
        std::uint64_t number = 0;
    };
    void wait_for_room(process::Lock& lock);
    Entered enter(Op op, ObjectId object, detail::TaskEntry const* method, std::size_t bytes);
    void send(process::Lock& lock, Op op, ObjectId object, std::uint64_t number,
              std::span<std::byte const> bytes, std::uint32_t gives = 0);
    void refuse_large(process::Lock const& lock, detail::TaskEntry const& method,
                      std::size_t bytes) const;
    void send_forgotten();
    bool is_answered_there(PendingReply const& target) const;
    /// Frees a slot. Null: it was that of a one-way call, of a call that is answered elsewhere, or
    /// of none.
    std::shared_ptr<PendingReply> vacate(std::uint32_t index, std::uint64_t round);
    void answer(PendingReply& pending, process::Message const& message);
    void expect_no_answer(PipelinedCall const& pipelined);

    process::Messenger& messenger_;
    process::ProcessAddress address_;
    std::shared_ptr<process::Peer> const peer_;
    Server* const server_;
    std::size_t const most_pending_;
    std::shared_ptr<Incarnation const> incarnation_;
    bool is_last_ = false;
    std::string why_lost_, cause_;
    std::vector<Slot> slots_;
    std::vector<std::uint32_t> free_;  ///< indices of free slots
    std::size_t under_way_ = 0, bytes_ = 0;
    std::size_t waiting_ = 0;  ///< threads that wait for room
    std::condition_variable room_;
    std::atomic<bool> any_forgotten_{false};
    std::mutex forgotten_guard_;
    std::vector<std::pair<std::uint64_t, ObjectId>> forgotten_;
};

}  // namespace sinew::manager
