// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <cstdint>
#include <list>
#include <mutex>

namespace sinew::pmpi {

/// What threads of this library look after. Called by these threads only.
class HelpedQueue {
public:
    enum class Need : std::uint8_t {
        nothing,  ///< until it asks again
        looks,    ///< further looks
        thread,   ///< a call of help() now
    };
    HelpedQueue() = default;
    HelpedQueue(HelpedQueue const&) = delete;
    HelpedQueue& operator=(HelpedQueue const&) = delete;

    /// Makes progress without waiting for another rank.
    virtual Need look() = 0;
    /// What a queue needs a thread for: may wait for other ranks, and calls no MPI.
    virtual void help() {}
    /// The calls of the queue fail, since look() or help() has thrown.
    virtual void fail() noexcept = 0;

protected:
    ~HelpedQueue() = default;
};

/// The threads of this process that look after queues of non-blocking calls while the program does
/// something else: one looks at them in turn, and becomes the thread of the first that needs one, while
/// another goes on looking. They begin with the first queue that asks for them, sleep while none does, and
/// call no MPI. Thread-safe.
class QueueHelper {
public:
    /// Looks after the queue until that needs it no longer. Throws BackendError if the system refuses
    /// the first thread.
    static void help(HelpedQueue& queue);
    /// Looks at the queues without waiting for the next time.
    static void look_now();
    /// The queue is not touched after it. Waits for its help().
    static void forget(HelpedQueue& queue);

private:
    struct Entry {
        HelpedQueue* queue;
        bool has_thread = false;
    };

    QueueHelper();
    static QueueHelper& instance();
    void start_thread();
    [[noreturn]] void run();
    Entry* look_at_all();
    void give_thread(Entry& entry, std::unique_lock<std::mutex>& lock);

    std::mutex mutex_;
    std::condition_variable asked_;  // a queue has asked, or no thread looks
    std::condition_variable looks_now_;
    std::condition_variable returned_;  // from help()
    // Guarded by mutex_.
    std::list<Entry> entries_;
    int sleeping_ = 0;     // threads that have nothing to do
    bool looked_ = false;  // a thread looks at the queues
};

}  // namespace sinew::pmpi
