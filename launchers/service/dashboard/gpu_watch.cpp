// SPDX-License-Identifier: Apache-2.0
#include "launchers/service/dashboard/gpu_watch.hpp"

#include <atomic>
#include <chrono>
#include <functional>
#include <mutex>
#include <sinew/error.hpp>
#include <utility>

#include "src/base/system/work_thread.hpp"
#include "src/lease/gpus/nvml.hpp"

namespace sinew::launch::service {
namespace {

using namespace std::chrono_literals;
using SteadyClock = std::chrono::steady_clock;

/// What was in use so long ago is not shown.
constexpr auto memory_expiry = 5s;

WorkThread& memory_thread() {
    static auto* const thread = new WorkThread("that asks for the memory of GPUs");
    return *thread;
}

}  // namespace

struct GpuWatch::Memory {
    std::atomic<bool> asking = false;
    std::function<std::vector<lease::NvmlMemoryUse>()> ask;  ///< for the thread alone
    mutable std::mutex mutex;
    std::map<std::string, lease::NvmlMemoryUse> uses;  ///< by UUID
    SteadyClock::time_point at;

    void update() {
        std::map<std::string, lease::NvmlMemoryUse> found;
        try {
            if (!ask) ask = lease::start_nvml_memory();
            for (auto& use : ask()) found[use.uuid] = use;
        } catch (Error const&) {
            // The memory of its GPUs is not known, which the page shows.
        }
        std::lock_guard const lock(mutex);
        uses = std::move(found);
        at = SteadyClock::now();
    }
};

GpuWatch::GpuWatch(std::string host) : host_(std::move(host)) {
    try {
        gpus_ = lease::find_gpus({});
        if (gpus_.by_uuid) memory_ = std::make_shared<Memory>();
    } catch (Unavailable const&) {
        // The server has no GPUs, and has said why.
    }
    try {
        leases_.emplace();
    } catch (Error const& problem) {
        problem_ = problem.what();
    }
}

std::vector<dashboard::Gpu> GpuWatch::look(std::map<int, std::string> const& holders,
                                           std::string const& outside) const {
    std::map<std::string, lease::NvmlMemoryUse> uses;
    if (memory_) {
        std::lock_guard const lock(memory_->mutex);
        if (SteadyClock::now() - memory_->at < memory_expiry) uses = memory_->uses;
    }
    std::vector<dashboard::Gpu> all;
    for (auto const& gpu : gpus_.gpus) {
        auto& shown = all.emplace_back(dashboard::Gpu{.host = host_, .index = gpu.index});
        if (auto const job = holders.find(gpu.index); job != holders.end())
            shown.holder = job->second;
        else if (leases_ && leases_->is_leased(gpus_, gpu)) shown.holder = outside;
        auto const use = uses.find(gpu.uuid);
        if (use == uses.end()) continue;
        shown.memory_used = use->second.used;
        shown.memory_total = use->second.total;
    }
    return all;
}

std::optional<std::size_t> GpuWatch::leases() const {
    if (!leases_) return std::nullopt;
    return leases_->count();
}

void GpuWatch::ask_memory() {
    if (!memory_ || memory_->asking.exchange(true)) return;
    memory_thread().add([memory = memory_] {
        memory->update();
        memory->asking = false;
    });
}

}  // namespace sinew::launch::service
