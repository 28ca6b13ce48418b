// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <cstdint>
#include <list>
#include <memory>
#include <optional>
#include <sinew/detail/pool_job.hpp>
#include <sinew/nodes.hpp>
#include <string>
#include <thread>

#include "src/pool/master/callback_thread.hpp"
#include "src/pool/master/master.hpp"
#include "src/process/runtime.hpp"

namespace sinew::service {

/// The calls of a Service. Each acquires a node, which is a job of a server, and executes its task in
/// a pool with one worker there.
class Calls final : public detail::PoolMaster {
public:
    /// `node`: what each call asks for. `where`: for errors.
    Calls(std::string where, NodesOptions node);
    Calls(Calls const&) = delete;

    std::mutex& guard() override { return runtime_.guard(); }
    std::uint64_t new_job() override;
    void submit(detail::JobSpec spec) override;
    void grow(std::uint64_t job, std::shared_ptr<detail::ArgumentBlock> more,
              bool complete) override;
    void cancel(std::uint64_t job) override;
    void later(std::function<void()> work) override;
    bool wait(std::unique_lock<std::mutex>& lock, std::condition_variable& changed,
              std::chrono::steady_clock::time_point deadline,
              std::function<bool()> const& done) override;
    void notify(std::condition_variable& changed) override;

    /// Waits until all calls have ended, or ends them, and until their nodes are given back.
    void end(bool at_once);

private:
    /// One call, and the thread that gives its node back.
    struct Call {
        std::uint64_t job = 0, inner_job = 0;
        std::optional<Nodes> nodes;
        std::shared_ptr<pool::Master> pool;
        std::shared_ptr<detail::JobSink> sink;  ///< of the caller
        std::exception_ptr error;
        bool over = false;  ///< the task has ended
        bool done = false;  ///< the thread has nothing more to do
        std::condition_variable changed;
        std::thread thread;
    };
    class Sink;
    using List = std::list<std::shared_ptr<Call>>;

    void conclude(Call& call);
    std::exception_ptr with_cause(Call const& call, std::exception_ptr const& error) const;
    void give_back(Call& call);
    std::shared_ptr<pool::Master> pool_of(std::uint64_t job, std::uint64_t& inner_job);
    void join(List calls);

    std::string const where_;
    NodesOptions const node_;
    process::Runtime& runtime_;
    std::uint64_t next_job_ = 1;
    bool closed_ = false;
    List calls_;
    pool::CallbackThread callbacks_;
};

}  // namespace sinew::service
