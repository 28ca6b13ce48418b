// SPDX-License-Identifier: Apache-2.0
#include "collectives/nccl/communicator.hpp"

#include <sinew/error.hpp>

#include "collectives/nccl/core.hpp"
#include "src/base/log.hpp"
#include "src/base/text.hpp"

namespace sinew::collectives::nccl {

Functions const& Calls::nccl() const { return core_.setup.library->call(); }
Handle Calls::comm() const { return core_.own; }
Library const& Calls::library() const { return *core_.setup.library; }
void Calls::check(int result, char const* function) const {
    // An ended communicator must not be asked for its last words.
    core_.stop_if_ending();
    core_.setup.library->check(result, function, core_.own);
}
void Calls::copy(void* to, void const* from, std::size_t bytes) const {
    if (bytes == 0 || to == from) return;
    core_.setup.driver->check(
        core_.setup.driver->copy_async(reinterpret_cast<CudaDriver::Address>(to),
                                       reinterpret_cast<CudaDriver::Address>(from), bytes, stream_),
        "cuMemcpyAsync");
}
void Calls::settle() const {
    core_.leave();
    // If the communicator is ended meanwhile, the next call finds that out.
    if (!core_.settle("a collective") || !core_.enter())
        throw BackendError(text(core_.setup.self, ": the communicator was lost meanwhile"),
                           internal_error);
}
int Calls::average(int type) const { return core_.average(type); }
void* Calls::scratch(std::size_t bytes) const { return core_.scratch(bytes); }

Communicator::Communicator(Setup const& setup) : core_(std::make_shared<Core>(setup)) {
    owner_ = std::thread([core = core_] { core->run(); });
}

Communicator::~Communicator() {
    {
        std::lock_guard const lock(core_->mutex);
        core_->closing = true;
        core_->changed.notify_all();
    }
    auto const ending = core_->setup.ending;
    // The owner waits for its tasks as long itself, and then needs a moment to fail.
    bool owner_ended = core_->await(&Core::owner_ended, ending + ending / 4);
    if (!owner_ended) {
        lose(std::make_exception_ptr(
            Timeout(text(core_->setup.self, ": NCCL does not return to its thread"))));
    }
    bool const failed = failure() != nullptr;
    bool const ended = !failed || core_->await(&Core::ended, ending);
    if (!owner_ended) owner_ended = core_->await(&Core::owner_ended, ending / 4);
    if (owner_ended) owner_.join();
    else owner_.detach();
    if (owner_ended && ended) core_->release();
    else
        log_warning(text(core_->setup.self, ": NCCL did not end within ",
                         std::chrono::duration<double>(ending).count(),
                         " s. Its communicator is left behind; end the process to free the GPU"));
}

Communicator::State Communicator::state() const {
    std::lock_guard const lock(core_->mutex);
    return core_->state;
}

std::shared_ptr<Work const> Communicator::submit(Task task) {
    return core_->submit(std::move(task));
}

void Communicator::lose(std::exception_ptr reason) { core_->lose(std::move(reason)); }

bool Communicator::await_end() { return core_->await(&Core::ended, core_->setup.ending); }

std::exception_ptr Communicator::failure() const {
    std::lock_guard const lock(core_->mutex);
    return core_->failure;
}

}  // namespace sinew::collectives::nccl
