// SPDX-License-Identifier: Apache-2.0
#include "src/manager/server/thread_pool.hpp"

#include <algorithm>
#include <utility>

#include "src/manager/server/executor.hpp"

namespace sinew::manager {
namespace {

// Calls may wait for one another. If work is queued and no thread has taken any for this long, a
// thread is added.
constexpr auto standstill = std::chrono::milliseconds(5);
constexpr std::size_t most_threads_ever = 1024;
// Maximum time that an answer waits for the calls executed after its own.
constexpr auto promptness = std::chrono::microseconds(200);
// After this many works of one object in a row, it is taken to be the only object that is called.
constexpr unsigned habit = 16;

}  // namespace

ThreadPool::ThreadPool(Messenger& messenger, Dispatcher& dispatcher,
                       std::unique_ptr<CheckpointClient> const& checkpoints, Callbacks callbacks)
    : messenger_(messenger), dispatcher_(dispatcher), checkpoints_(checkpoints),
      callbacks_(std::move(callbacks)) {}

void ThreadPool::stop() {
    stopping_ = true;
    messenger_.runtime().loop_leader().notify_all(changed_);
}

void ThreadPool::wake() {
    if (!dispatcher_.has_work()) return;
    if (idle_ > 0) messenger_.runtime().loop_leader().notify_one(changed_);
    else watch_threads();
}

// Arms a one-shot timer only if there is work, so that an idle manager does not wake up.
void ThreadPool::watch_threads() {
    if (threads_watch_ || stopping_) return;
    taken_before_ = taken_;
    threads_watch_ =
        messenger_.runtime().loop().after(standstill, [this] { look_after_threads(); });
}

void ThreadPool::look_after_threads() {
    threads_watch_ = {};
    bool const stands = taken_ == taken_before_;
    if (!dispatcher_.has_work() || idle_ > 0 || stopping_) return;
    if (threads_.size() < most_threads_ever && (stands || threads_.size() + 1 < most_threads_))
        threads_.emplace_back([this] {
            Lock lock(messenger_.guard());
            execute(lock);
        });
    watch_threads();
}

void ThreadPool::watch_answers() {
    if (answers_watch_ || stopping_) return;
    answers_watch_ =
        messenger_.runtime().loop().after(promptness, [this] { look_after_answers(); });
}

// Sends the answers of short calls that precede a long call, and wakes threads for other objects.
void ThreadPool::look_after_answers() {
    answers_watch_ = {};
    for (auto* const each : busy_) each->send_old();
    messenger_.flush_batches();
    if (dispatcher_.has_work()) wake();
    if (!busy_.empty()) watch_answers();
}

void ThreadPool::work() {
    Lock lock(messenger_.guard());
    most_threads_ = std::max(1U, std::thread::hardware_concurrency());
    execute(lock);
    threads_watch_ = {};
    answers_watch_ = {};
    auto threads = std::move(threads_);
    lock.unlock();
    for (auto& each : threads) each.join();
    lock.lock();
    auto instances = dispatcher_.take_all();
    lock.unlock();
    instances.clear();  // without the guard: their destructors are user code
}

void ThreadPool::execute(Lock& lock) {
    Executor::Keep keep;
    if (checkpoints_) keep = [this](Executed const& executed) { checkpoints_->executed(executed); };
    Executor executor(
        messenger_.guard(),
        [this](auto const& answers, Writer const& bytes) {
            callbacks_.send(answers, bytes.bytes());
        },
        std::move(keep));
    while (!stopping_) {
        // With checkpoints, only this thread sends its answers. It takes one call at a time unless
        // calls are brief, so that answers do not wait behind long calls.
        auto work =
            dispatcher_.take(checkpoints_ && !executor.is_brief() ? 1 : Dispatcher::calls_in_a_row);
        if (!work) {
            wait_for_work(lock, executor);
            continue;
        }
        note_taken(*work);
        bool const several = !checkpoints_ && work->calls != nullptr && work->calls->size() > 1;
        if (several) busy_.push_back(&executor);
        if (several || dispatcher_.has_work()) watch_answers();
        lock.unlock();
        if (work->calls == nullptr) {
            auto const id = work->object;
            work.reset();  // its destructor may take long
            lock.lock();
            if (checkpoints_) checkpoints_->ended(id);
            continue;
        }
        auto instance = executor.run(*work);
        lock.lock();
        if (several) std::erase(busy_, &executor);
        if (!checkpoints_) executor.flush_batches();
        bool const making = (*work->calls)[0].makes;
        if (making && checkpoints_) {
            if (!instance) checkpoints_->ended(work->object);
            if ((*work->calls)[0].client == 0) callbacks_.remade();
        }
        for (auto const& unmade : dispatcher_.finished(*work, std::move(instance)))
            callbacks_.unmade(unmade);
    }
}

void ThreadPool::note_taken(Work const& work) {
    ++taken_;
    of_latest_ = work.alone && work.object == latest_ ? of_latest_ + 1 : 0;
    latest_ = work.object;
}

// True if calls are so brief that no other thread needs to drive the loop during a call, or if they
// are short and all of one object (such as a simulator), so that nothing could run meanwhile.
bool ThreadPool::may_drive(Executor const& executor) const {
    return executor.is_brief() || (executor.is_short() && of_latest_ >= habit);
}

// A thread that drives the loop executes arriving calls itself, without waking another thread.
void ThreadPool::wait_for_work(Lock& lock, Executor const& executor) {
    std::function<bool()> const there_is = [this] { return stopping_ || dispatcher_.has_work(); };
    auto& loop_leader = messenger_.runtime().loop_leader();
    ++idle_;
    if (may_drive(executor)) {
        loop_leader.wait(lock, changed_, process::never, there_is,
                         process::LoopLeader::Turn::some_time);
    } else {
        process::LoopLeader::Follower const stands_by(loop_leader);
        changed_.wait(lock, there_is);
    }
    --idle_;
}

}  // namespace sinew::manager
