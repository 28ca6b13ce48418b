// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <sinew/task/codec.hpp>
#include <unordered_map>
#include <vector>

#include "src/manager/protocol.hpp"
#include "src/manager/restart/incarnation.hpp"
#include "src/manager/server/answer.hpp"
#include "src/manager/server/checkpoint_client.hpp"
#include "src/manager/server/dispatcher.hpp"
#include "src/manager/server/promises.hpp"
#include "src/manager/server/thread_pool.hpp"
#include "src/process/rpc/messenger.hpp"

namespace sinew::manager {

using process::Message;
using process::Peer;

/// The objects of this process, and what other processes ask of them. All methods but `work`
/// with the guard held.
class Server {
public:
    /// `answer_here`: receives answers for this process itself.
    Server(Messenger& messenger, std::function<void(Message const&)> answer_here);
    Server(Server const&) = delete;
    ~Server();

    /// A message of another process; of this one if `peer` is null.
    void message(std::shared_ptr<Peer> const& peer, Message const& message);
    void lost(std::shared_ptr<Peer> const& peer);

    /// Called in the process's main thread: executes calls until `stop`, with as many threads as
    /// needed.
    void work() { threads_.work(); }
    /// Running calls end; nothing else begins.
    void stop();
    /// This process has a supervisor that restarts it. Call it before any object is made.
    void keep(Incarnation incarnation);
    CheckpointClient* checkpoints() { return checkpoints_.get(); }
    /// An object that a method of another object has made, held by this process. With the guard
    /// held.
    ObjectId add_made(detail::TaskEntry const& constructor, unsigned parallel,
                      std::shared_ptr<void> instance, std::span<std::byte const> arguments);

    // Without the guard: of calls whose objects answer later.
    void postpone(Work const& work, std::size_t index, std::shared_ptr<Postponed> const& call);
    void send_later(std::vector<Answer> const& answers, Writer const& bytes);

private:
    struct Caller {
        Client number = 0;
        std::shared_ptr<Peer> peer;
        bool refused = false;  ///< it runs another program
    };
    Caller& caller(std::shared_ptr<Peer> const& peer);
    void create(Caller& caller, Message const& message);
    void call(Caller& caller, Message const& message);
    void serve(Caller& caller, Message const& message);
    void lookup(Caller& caller, Message const& message);
    void publish(Caller& caller, Message const& message);
    void detach(Caller& caller, Message const& message);
    void checkpoint(Caller& caller, Message const& message);
    void follow(Caller& caller, Message const& message);
    void carry_on(Caller const& to, Promises::Outcome const& outcome, Call call);
    void settle(Client client, std::uint64_t number, Op op, std::span<std::byte const> bytes);
    void cancel(Caller const& caller, Message const& message);
    void recall(Caller const& caller, Message const& message);
    void from_supervisor(Message const& message);
    void remake(Message const& message);
    void remade_one();
    void give_up(Caller const& caller, Message const& message);
    void answer(Caller const& caller, Op op, std::uint64_t number,
                std::span<std::byte const> bytes = {}, ObjectId id = 0);
    void send(std::vector<Answer> const& answers, std::span<std::byte const> bytes);
    void tell_gone(Dropped const& call);
    /// About what a call, a position in a sequence, or a promise takes beside its bytes.
    static constexpr std::size_t each_entry = 256;
    static process::Reservation reserve(Caller const& from, std::size_t bytes);
    static Payload keep(Message const& message, std::span<std::byte const> bytes);

    Messenger& messenger_;
    std::function<void(Message const&)> answer_here_;
    Dispatcher dispatcher_;
    Promises promises_;
    Client clients_ = 0;
    std::unordered_map<Peer*, Caller> callers_;
    std::unordered_map<Client, std::shared_ptr<Peer>> peers_;

    std::unique_ptr<CheckpointClient> checkpoints_;  ///< null: this process is not restarted
    ThreadPool threads_;
    bool stopping_ = false;
    std::uint64_t to_remake_ = 0, remade_ = 0;
    bool knows_how_many_ = false;
};

}  // namespace sinew::manager
