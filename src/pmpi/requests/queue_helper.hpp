// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <mutex>
#include <vector>

namespace sinew::pmpi {

class PostingQueue;

/// The thread of this process that looks after queues of non-blocking calls while the program does
/// something else. It begins with the first queue that asks for it, sleeps while none does, and calls
/// no MPI. Thread-safe.
class QueueHelper {
public:
    /// Looks after the queue until that needs it no longer. Throws BackendError if the system refuses
    /// the thread.
    static void help(PostingQueue& queue);
    /// The queue is not touched after it.
    static void forget(PostingQueue& queue);

private:
    QueueHelper();
    static QueueHelper& instance();
    [[noreturn]] void run();

    std::mutex mutex_;
    std::condition_variable changed_;
    std::vector<PostingQueue*> queues_;  // guarded by mutex_
};

}  // namespace sinew::pmpi
