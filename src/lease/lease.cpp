// SPDX-License-Identifier: Apache-2.0
#include <sinew/lease.hpp>

#include <sched.h>

#include <sinew/error.hpp>

#include "src/base/system/io.hpp"
#include "src/base/text.hpp"
#include "src/lease/acquisition.hpp"
#include "src/lease/gpus/gpu_environment.hpp"
#include "src/lease/locks/process_fd.hpp"

namespace sinew {

struct Lease::State {
    lease::OnlyLease only;  // last to end
    std::optional<lease::Grant> grant;
    std::vector<LeasedGpu> gpus = {};
    lease::SetVariables variables = {};
    unsigned generation = lease::fork_generation();

    bool is_of_this_process() const { return generation == lease::fork_generation(); }
    ~State() {
        if (!is_of_this_process()) return;
        variables.restore();
        if (grant) grant->file.unlock_all();
    }
};

Lease::Lease(std::unique_ptr<State> state) : state_(std::move(state)) {}
Lease::Lease(Lease&&) noexcept = default;
Lease& Lease::operator=(Lease&&) noexcept = default;
Lease::~Lease() = default;

std::unique_ptr<Lease::State> Lease::make(LeaseRequest request, LeaseOptions const& options,
                                          bool wait) {
    lease::OnlyLease only;
    if (request.gpus != 0 && options.set_environment) lease::refuse_if_cuda_has_begun();
    auto grant =
        lease::acquire(request, options, wait ? lease::Wait::until_free : lease::Wait::not_at_all);
    if (!grant) return nullptr;
    auto state = std::unique_ptr<State>(new State{std::move(only), std::move(grant)});
    for (auto const& gpu : state->grant->gpus) state->gpus.push_back({gpu.index, gpu.uuid});
    if (options.set_environment)
        state->variables = lease::SetVariables(lease::gpu_variables(state->grant->gpus));
    return state;
}

Lease Lease::acquire(LeaseRequest request, LeaseOptions const& options) {
    return Lease(make(request, options, true));
}

std::optional<Lease> Lease::try_acquire(LeaseRequest request, LeaseOptions const& options) {
    auto state = make(request, options, false);
    if (!state) return std::nullopt;
    return Lease(std::move(state));
}

Lease::State const& Lease::state() const {
    if (!state_) throw UsageError("the lease has ended, or was moved to another object");
    return *state_;
}

std::vector<LeasedGpu> const& Lease::gpus() const { return state().gpus; }
std::vector<int> const& Lease::cpus() const { return state().grant->cpus; }
std::uint64_t Lease::memory_bytes() const { return state().grant->memory; }

std::map<std::string, std::string> Lease::environment() const {
    return lease::gpu_variables(state().grant->gpus);
}

void Lease::bind_thread() const {
    auto const& numbers = cpus();
    if (numbers.empty())
        throw UsageError("the lease has no processors. Ask for some (LeaseRequest::cpus)");
    cpu_set_t set;
    CPU_ZERO(&set);
    for (int const number : numbers) CPU_SET(static_cast<std::size_t>(number), &set);
    if (::sched_setaffinity(0, sizeof set, &set) != 0)
        throw_errno("the thread cannot be bound to the processors of its lease");
}

void Lease::release() noexcept { state_.reset(); }

bool Lease::held() const noexcept { return state_ != nullptr && state_->is_of_this_process(); }

int Lease::hand_over() {
    if (!held())
        throw UsageError("the lease is not this process's: it has ended, or is of the parent");
    int const file = state_->grant->file.release();
    state_->grant.reset();
    state_.reset();
    return file;
}

}  // namespace sinew
