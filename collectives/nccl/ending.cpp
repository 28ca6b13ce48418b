// SPDX-License-Identifier: Apache-2.0
// How a communicator ends after its first failure: by a thread of its own, because the owner may be
// stuck inside NCCL or the CUDA driver.
#include <algorithm>
#include <system_error>
#include <thread>

#include <sinew/error.hpp>

#include "collectives/nccl/core.hpp"
#include "src/base/log.hpp"
#include "src/base/text.hpp"

namespace sinew::collectives::nccl {

using namespace std::chrono_literals;

void Core::lose(std::exception_ptr reason) {
    std::lock_guard const lock(mutex);
    if (failure) return;
    failure = std::move(reason);
    state = Communicator::State::lost;
    for (auto const& task : queued) task->now.store(Work::Phase::failed, std::memory_order_release);
    for (auto const& task : running)
        task->now.store(Work::Phase::failed, std::memory_order_release);
    changed.notify_all();
    try {
        std::thread([core = shared_from_this()] { core->end(); }).detach();
    } catch (std::system_error const& error) {
        log_warning(text(setup.self, ": no thread to abort NCCL's communicator: ", error.what()));
    }
}

/// Stops the kernels in flight and destroys the communicator.
void Core::end_with_nccl(Handle handle, bool was_ready) {
    Functions const& nccl = setup.library->call();
    if (was_ready && setup.library->has_revoke() && nccl.revoke(handle, 0) == success) {
        // Revoking makes the calls in which the owner may be stuck return; then destroying is safe.
        auto const until = Clock::now() + setup.ending / 2;
        int error = in_progress;
        while (error == in_progress && Clock::now() < until) {
            if (nccl.async_error(handle, &error) != success) break;
            if (error == in_progress) std::this_thread::sleep_for(1ms);
        }
        std::unique_lock lock(mutex);
        bool const is_out = changed.wait_until(lock, until, [&] { return !inside; });
        lock.unlock();
        if (is_out && error != in_progress && nccl.destroy(handle) == success) return;
    }
    {
        // The owner is inside a call as a rule for microseconds only. If it is stuck, aborting frees it.
        std::unique_lock lock(mutex);
        changed.wait_for(lock, setup.ending / 4, [&] { return !inside; });
    }
    nccl.abort(handle);
}

void Core::end() {
    try {
        setup.driver->check(setup.driver->context_set(setup.context), "cuCtxSetCurrent");
    } catch (std::exception const& error) {
        log_warning(text(setup.self, ": while aborting NCCL: ", error.what()));
    }
    Handle handle = nullptr;
    bool was_ready = false;
    {
        std::lock_guard const lock(mutex);
        handle = comm;
        was_ready = own_stream != nullptr;
        end_found_none = handle == nullptr;
    }
    if (handle != nullptr) end_with_nccl(handle, was_ready);
    std::lock_guard const lock(mutex);
    comm = nullptr;
    ended = true;
    changed.notify_all();
}

}  // namespace sinew::collectives::nccl
