// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <sinew/detail/pool_job.hpp>

#include "src/pool/remote/supervisor.hpp"

namespace sinew::pool {

/// Behind the pool of a rank that only serves: takes no tasks, and says so.
class SupervisorMaster final : public detail::PoolMaster {
public:
    explicit SupervisorMaster(std::shared_ptr<Supervisor> supervisor)
        : supervisor_(std::move(supervisor)) {}
    ~SupervisorMaster() override;
    /// In a fork it is never destroyed: what it would end is the parent's.
    static std::shared_ptr<SupervisorMaster> make(std::shared_ptr<Supervisor> supervisor);

    std::mutex& guard() override { return supervisor_->runtime().guard(); }
    std::uint64_t new_job() override { refuse(); }
    void submit(detail::JobSpec) override { refuse(); }
    void grow(std::uint64_t, std::shared_ptr<detail::ArgumentBlock>, bool) override { refuse(); }
    void cancel(std::uint64_t) override { refuse(); }
    void later(std::function<void()>) override { refuse(); }
    bool wait(std::unique_lock<std::mutex>&, std::condition_variable&,
              std::chrono::steady_clock::time_point, std::function<bool()> const&) override {
        refuse();
    }
    void notify(std::condition_variable&) override { refuse(); }

    /// Until rank 0 has no pool any more, or is lost.
    void join() { supervisor_->wait_until_over(); }
    /// At once, whatever its workers are at.
    void terminate();
    [[noreturn]] static void refuse();

private:
    std::shared_ptr<Supervisor> supervisor_;
};

}  // namespace sinew::pool
