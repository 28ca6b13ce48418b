// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <sinew/detail/pool_job.hpp>

#include "src/nodes/node_agent.hpp"

namespace sinew::pool {

/// Behind the pool of a rank that only serves rank 0: refuses tasks.
class ServingMaster final : public detail::PoolMaster {
public:
    explicit ServingMaster(std::shared_ptr<nodes::Served> served) : served_(std::move(served)) {}
    /// In a fork it is never destroyed: its agent is the parent's.
    static std::shared_ptr<ServingMaster> make(std::shared_ptr<nodes::Served> served);

    std::mutex& guard() override { return served_->agent().runtime().guard(); }
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

    /// Returns when rank 0 has no pool any more, or is lost.
    void join() { served_->agent().wait_until_over(); }
    /// At once, whatever its workers are executing.
    void terminate();
    [[noreturn]] static void refuse();

private:
    std::shared_ptr<nodes::Served> const served_;
};

}  // namespace sinew::pool
