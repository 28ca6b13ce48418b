// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <functional>
#include <memory>
#include <span>
#include <thread>
#include <vector>

#include "src/manager/server/answer.hpp"
#include "src/manager/server/checkpoint_client.hpp"
#include "src/manager/server/dispatcher.hpp"
#include "src/process/rpc/messenger.hpp"

namespace sinew::manager {

using process::Lock;
using process::Messenger;

class Executor;

/// The threads of a manager that execute calls: as many as are needed, since calls may wait for one
/// another. Decides which of them drives the event loop meanwhile. All methods but `work` with the
/// guard held.
class ThreadPool {
public:
    /// All are called with the guard held.
    struct Callbacks {
        std::function<void(std::vector<Answer> const&, std::span<std::byte const>)> send;
        std::function<void(Dropped const&)> unmade;  ///< the object of the call could not be made
        std::function<void()> remade;                ///< an object was made again, or could not be
    };
    /// `checkpoints`: set, if ever, before the first call.
    ThreadPool(Messenger& messenger, Dispatcher& dispatcher,
               std::unique_ptr<CheckpointClient> const& checkpoints, Callbacks callbacks);
    ThreadPool(ThreadPool const&) = delete;

    /// Executes calls until `stop`, in the calling thread and others.
    void work();
    /// Running calls end; nothing else begins.
    void stop();
    /// There may be work.
    void wake();

private:
    void look_after_threads();
    void look_after_answers();
    void watch_threads();
    void watch_answers();
    void execute(Lock& lock);
    void note_taken(Work const& work);
    bool may_drive(Executor const& executor) const;
    void wait_for_work(Lock& lock, Executor const& executor);

    Messenger& messenger_;
    Dispatcher& dispatcher_;
    std::unique_ptr<CheckpointClient> const& checkpoints_;
    Callbacks const callbacks_;
    std::condition_variable changed_;
    std::vector<std::thread> threads_;
    std::size_t idle_ = 0, most_threads_ = 0;
    std::uint64_t taken_ = 0,
                  taken_before_ = 0;  ///< number of works, to see whether any thread makes progress
    ObjectId latest_ = 0;             ///< whose work was taken last
    unsigned of_latest_ = 0;       ///< number of works in a row that were all of it, one at a time
    std::vector<Executor*> busy_;  ///< with several calls in a row
    wire::Loop::Handle threads_watch_, answers_watch_;
    bool stopping_ = false;
};

}  // namespace sinew::manager
