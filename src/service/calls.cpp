// SPDX-License-Identifier: Apache-2.0
#include "src/service/calls.hpp"

#include <algorithm>
#include <chrono>
#include <sinew/error.hpp>
#include <sinew/remote_error.hpp>
#include <utility>

#include "src/base/text.hpp"
#include "src/pool/placement/acquired_placement.hpp"

namespace sinew::service {
namespace {

using namespace std::chrono_literals;
/// Until the end of a job whose node is lost is known; above the time after which it is killed.
constexpr auto longest_ending = 20s;

PoolOptions pool_options() {
    PoolOptions options;
    options.workers = 1;
    options.progress = Progress::off;
    return options;
}

}  // namespace

/// Passes a value on at once, and an error when its cause is known.
class Calls::Sink final : public detail::JobSink {
public:
    Sink(Calls& calls, std::shared_ptr<Call> call) : calls_(calls), call_(std::move(call)) {}

    std::exception_ptr results(std::uint64_t first, std::uint32_t count, Reader& values) override {
        return call_->sink->results(first, count, values);
    }
    void failed(std::uint64_t, std::exception_ptr error) override {
        call_->error = std::move(error);
    }
    void dropped(std::uint64_t first, std::uint64_t count) override {
        call_->sink->dropped(first, count);
    }
    void ended() override {
        if (!call_->error) call_->sink->ended();
        call_->over = true;
        calls_.notify(call_->changed);
    }

private:
    Calls& calls_;
    std::shared_ptr<Call> const call_;
};

Calls::Calls(std::string where, NodesOptions node)
    : where_(std::move(where)), node_(std::move(node)), runtime_(process::Runtime::instance()) {}

std::uint64_t Calls::new_job() {
    std::lock_guard const lock(guard());
    return next_job_++;
}

void Calls::submit(detail::JobSpec spec) {
    auto const call = std::make_shared<Call>();
    List finished;
    {
        std::lock_guard const lock(guard());
        if (closed_) throw UsageError("a call of a Service that is being destroyed");
        for (auto each = calls_.begin(); each != calls_.end();) {
            auto const next = std::next(each);
            if ((*each)->done) finished.splice(finished.end(), calls_, each);
            each = next;
        }
    }
    join(std::move(finished));
    call->job = spec.job;
    call->sink = std::move(spec.sink);
    call->nodes.emplace(Nodes::acquire(node_));
    call->pool = pool::Master::make(pool_options(), pool::make_acquired_placement(*call->nodes));
    call->inner_job = spec.job = call->pool->new_job();
    spec.sink = std::make_shared<Sink>(*this, call);
    {
        std::lock_guard const lock(guard());
        calls_.push_back(call);
    }
    try {
        call->pool->submit(std::move(spec));
        std::lock_guard const lock(guard());
        call->thread = std::thread([this, call] { conclude(*call); });
    } catch (...) {
        {
            std::lock_guard const lock(guard());
            calls_.remove(call);
        }
        give_back(*call);
        throw;
    }
}

void Calls::conclude(Call& call) {
    std::unique_lock lock(guard());
    wait(lock, call.changed, std::chrono::steady_clock::time_point::max(),
         [&] { return call.over; });
    auto error = call.error;
    lock.unlock();
    if (error) error = with_cause(call, error);
    give_back(call);
    lock.lock();
    if (error) {
        call.sink->failed(0, error);
        call.sink->ended();
    }
    auto const sink = std::move(call.sink);  // it keeps this object
    call.done = true;
    lock.unlock();  // before a value of the program is destroyed
}

// What ended the job, if that was the reason. A worker that died alone has left its node.
std::exception_ptr Calls::with_cause(Call const& call, std::exception_ptr const& error) const {
    try {
        std::rethrow_exception(error);
    } catch (WorkerDied const&) {
    } catch (PoolBroken const&) {
    } catch (...) {
        return error;
    }
    try {
        if (call.nodes->size() > 0) return error;
        static_cast<void>(call.nodes->wait_for(1, longest_ending));
    } catch (Unavailable const& why) {
        return std::make_exception_ptr(Unavailable(text("a call on ", where_, ": ", why.what())));
    }
    return error;
}

void Calls::give_back(Call& call) {
    call.pool->terminate();
    call.pool->join();
    std::shared_ptr<pool::Master> ended;
    {
        std::lock_guard const lock(guard());
        ended = std::move(call.pool);
    }
    ended = nullptr;
    call.nodes.reset();
}

std::shared_ptr<pool::Master> Calls::pool_of(std::uint64_t job, std::uint64_t& inner_job) {
    std::lock_guard const lock(guard());
    auto const found = std::find_if(calls_.begin(), calls_.end(),
                                    [&](auto const& call) { return call->job == job; });
    if (found == calls_.end()) return nullptr;
    inner_job = (*found)->inner_job;
    return (*found)->pool;
}

void Calls::grow(std::uint64_t job, std::shared_ptr<detail::ArgumentBlock> more, bool complete) {
    std::uint64_t inner_job = 0;
    if (auto const pool = pool_of(job, inner_job)) pool->grow(inner_job, std::move(more), complete);
}

void Calls::cancel(std::uint64_t job) {
    std::uint64_t inner_job = 0;
    if (auto const pool = pool_of(job, inner_job)) pool->cancel(inner_job);
}

void Calls::later(std::function<void()> work) { callbacks_.call(std::move(work)); }

bool Calls::wait(std::unique_lock<std::mutex>& lock, std::condition_variable& changed,
                 std::chrono::steady_clock::time_point deadline,
                 std::function<bool()> const& done) {
    return runtime_.loop_leader().wait(lock, changed, deadline, done,
                                       process::LoopLeader::Turn::some_time);
}

void Calls::notify(std::condition_variable& changed) { runtime_.loop_leader().notify_all(changed); }

void Calls::join(List calls) {
    for (auto const& call : calls) call->thread.join();
}

void Calls::end(bool at_once) {
    List calls;
    {
        std::lock_guard const lock(guard());
        closed_ = true;
        calls = calls_;
    }
    if (at_once)
        for (auto const& call : calls) cancel(call->job);
    join(std::move(calls));
    {
        std::lock_guard const lock(guard());
        calls_.clear();
    }
    callbacks_.finish();
}

}  // namespace sinew::service
