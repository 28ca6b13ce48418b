// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <memory>
#include <sinew/codec.hpp>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include "src/manager/core.hpp"
#include "src/manager/protocol.hpp"
#include "src/process/queue_mail.hpp"

namespace sinew::manager {

using process::Letter;
using process::Lock;
using process::Mail;
using process::Peer;

class Executor;

/// What a call has come to: collected, and sent together.
struct Answer {
    Client to = 0;
    Op op = Op::value;
    std::uint64_t number = 0;
    std::size_t begin = 0, size = 0;  ///< of its bytes in the collection's writer
};

/// The objects of this process, and the threads that execute what is called of them. Everything with
/// the guard held, but `work`.
class Server {
public:
    /// `answer_here`: takes what goes to this process itself.
    Server(Mail& mail, std::function<void(Letter const&)> answer_here)
        : mail_(mail), answer_here_(std::move(answer_here)) {}
    Server(Server const&) = delete;

    /// From another process; from this one where `peer` is null.
    void letter(std::shared_ptr<Peer> const& peer, Letter const& letter);
    void lost(std::shared_ptr<Peer> const& peer);

    /// In the process's main thread: executes until `stop`, with as many threads as it takes.
    void work();
    /// What runs ends; nothing else begins.
    void stop();

private:
    struct Caller {
        Client number = 0;
        std::shared_ptr<Peer> peer;
        bool refused = false;  ///< another program
    };
    Caller& caller(std::shared_ptr<Peer> const& peer);
    void create(Caller& caller, Letter const& letter);
    void call(Caller& caller, Letter const& letter);
    void serve(Caller& caller, Letter const& letter);
    void lookup(Caller& caller, Letter const& letter);
    void give_up(Caller const& caller, Letter const& letter);
    void answer(Caller const& caller, Op op, std::uint64_t number,
                std::span<std::byte const> bytes = {}, ObjectId id = 0);
    void send(std::vector<Answer> const& answers, Writer const& bytes);
    void tell_gone(Dropped const& call);
    void wake();
    void look_after_threads();
    void look_after_answers();
    void watch_threads();
    void watch_answers();
    void execute(Lock& lock);
    void wait_for_work(Lock& lock, Executor const& executor);
    static Payload keep(Letter const& letter, std::span<std::byte const> bytes);

    Mail& mail_;
    std::function<void(Letter const&)> answer_here_;
    Core core_;
    Client clients_ = 0;
    std::unordered_map<Peer*, Caller> callers_;
    std::unordered_map<Client, std::shared_ptr<Peer>> peers_;

    std::condition_variable changed_;
    std::vector<std::thread> threads_;
    std::size_t idle_ = 0, most_threads_ = 0;
    std::uint64_t taken_ = 0, taken_before_ = 0;  ///< works, to see whether any thread moves
    std::vector<Executor*> busy_;                 ///< with several calls in a row
    wire::Loop::Handle threads_watch_, answers_watch_;
    bool stopping_ = false;
};

}  // namespace sinew::manager
