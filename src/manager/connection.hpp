// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <memory>
#include <string>
#include <vector>

#include "src/manager/pending.hpp"
#include "src/manager/protocol.hpp"
#include "src/process/queue_address.hpp"

namespace sinew::manager {

class Server;

/// One manager as this process calls it, and the calls under way.
/// Everything with the guard held.
class Connection : public std::enable_shared_from_this<Connection> {
public:
    /// `peer`: null where it is this process itself, which `server` serves.
    Connection(process::Mail& mail, process::ProcessAddress address,
               std::shared_ptr<process::Peer> peer, Server* server, std::size_t most_pending);
    Connection(Connection const&) = delete;

    /// Sends a call, or a question. Waits while there are too many under way, unless in a callback.
    /// `bytes` of a call begin with a CallHead, whose `sequence` is drawn from `row` when it is its
    /// turn.
    std::shared_ptr<Pending> call(process::Lock& lock, Op op, ObjectId object,
                                  detail::TaskEntry const* method, Writer& bytes,
                                  std::uint64_t& row);
    std::shared_ptr<Pending> ask(process::Lock& lock, Op op, ObjectId object,
                                 std::span<std::byte const> bytes);
    /// What is not answered.
    void tell(Op op, ObjectId object, std::uint64_t number = 0,
              std::span<std::byte const> bytes = {});
    void cancel(ObjectId object, std::uint64_t number) { tell(Op::cancel, object, number); }
    void withdraw(ObjectId object, std::uint64_t number) { tell(Op::recall, object, number); }

    void letter(process::Letter const& letter);
    void lost(std::string const& why);

    process::Mail& mail() { return mail_; }
    process::ProcessAddress const& address() const { return address_; }
    std::string const& name() const { return address_.name; }
    bool here() const { return peer_ == nullptr; }
    bool is_lost() const { return !why_lost_.empty(); }
    std::size_t most_pending() const { return most_pending_; }

private:
    /// For a call under way, then for another. A call's number: which slot, and how many there were
    /// in it before.
    struct Slot {
        std::shared_ptr<Pending> pending;  ///< null: of a one-way call
        std::size_t bytes = 0;
        std::uint32_t round = 0;
        bool taken = false;
    };
    struct Entered {
        std::shared_ptr<Pending> pending;
        std::uint64_t number = 0;
    };
    void wait_for_room(process::Lock& lock);
    Entered enter(Op op, ObjectId object, detail::TaskEntry const* method, std::size_t bytes);
    void send(process::Lock& lock, Op op, ObjectId object, std::uint64_t number,
              std::span<std::byte const> bytes);
    void answer(Slot& slot, process::Letter const& letter);
    std::exception_ptr lost_error(Pending const& call, bool maybe_executed) const;

    process::Mail& mail_;
    process::ProcessAddress const address_;
    std::shared_ptr<process::Peer> const peer_;
    Server* const server_;
    std::size_t const most_pending_;
    std::string why_lost_;
    std::vector<Slot> slots_;
    std::vector<std::uint32_t> free_;  ///< of them
    std::size_t under_way_ = 0, bytes_ = 0;
    std::size_t waiting_ = 0;  ///< threads, for room
    std::condition_variable room_;
};

}  // namespace sinew::manager
