// SPDX-License-Identifier: Apache-2.0
#include "src/pmpi/requests/own_request.hpp"

#include <mutex>
#include <unordered_map>

#include "src/base/log.hpp"
#include "src/base/text.hpp"
#include "src/pmpi/collective_call.hpp"
#include "src/pmpi/real.hpp"

namespace sinew::pmpi {

namespace {

struct Table {
    std::mutex mutex;
    std::unordered_map<std::uint64_t, OwnRequest*> by_handle;
};
/// Never destroyed: MPI may free requests after the end of main().
Table& table() {
    static Table& all = *new Table;
    return all;
}

}  // namespace

OwnRequest* OwnRequest::find(MPI_Request request) {
    Table& all = table();
    std::lock_guard const lock(all.mutex);
    auto const found = all.by_handle.find(key_of(request));
    return found == all.by_handle.end() ? nullptr : found->second;
}

int OwnRequest::post(PostingQueue& queue, std::shared_ptr<PostedCollective> call,
                     std::span<std::byte const> message, MPI_Request* request) {
    std::unique_ptr<OwnRequest> own(new OwnRequest(queue, call));
    int const code = real().Grequest_start(on_query, on_free, on_cancel, own.get(), &own->handle_);
    if (code != MPI_SUCCESS) return code;
    OwnRequest* const kept = own.release();  // until MPI calls on_free
    {
        Table& all = table();
        std::lock_guard const lock(all.mutex);
        all.by_handle[key_of(kept->handle_)] = kept;
        count_.fetch_add(1, std::memory_order_release);
    }
    *request = kept->handle_;
    try {
        queue.post(call, message);
    } catch (...) {  // no memory, or no thread: nobody must wait for what is not in the queue
        queue.fail();
        call->failed = true;
        call->ended.store(true, std::memory_order_release);
        throw;
    }
    return MPI_SUCCESS;
}

int OwnRequest::on_query(void* own, MPI_Status* status) {
    real().Status_set_elements(status, MPI_BYTE, 0);
    real().Status_set_cancelled(status, 0);
    status->MPI_SOURCE = MPI_UNDEFINED;
    status->MPI_TAG = MPI_UNDEFINED;
    return static_cast<OwnRequest*>(own)->call_->failed ? MPI_ERR_OTHER : MPI_SUCCESS;
}

int OwnRequest::on_free(void* own) {
    std::unique_ptr<OwnRequest> const ending(static_cast<OwnRequest*>(own));
    Table& all = table();
    std::lock_guard const lock(all.mutex);
    all.by_handle.erase(key_of(ending->handle_));
    count_.fetch_sub(1, std::memory_order_release);
    return MPI_SUCCESS;
}

/// MPI has no cancellation of collectives.
int OwnRequest::on_cancel(void*, int) { return MPI_SUCCESS; }

bool OwnRequest::try_complete() {
    if (complete_) return true;
    if (!call_->ended.load(std::memory_order_acquire)) queue_.progress();
    if (!call_->ended.load(std::memory_order_acquire)) return false;
    finish();
    return true;
}

void OwnRequest::complete() {
    if (try_complete()) return;
    try {
        queue_.await(*call_);
        finish();
    } catch (std::exception const& error) {
        fail(error);
    }
}

void OwnRequest::fail(std::exception const& error) {
    queue_.fail();
    pmpi::fail(call_->function, call_->comm, queue_.route(), error);
    finish();
}

void OwnRequest::finish() {
    complete_ = true;
    if (!call_->failed && call_->unpacking) {
        try {
            call_->unpacking->run();
        } catch (std::exception const& error) {
            call_->failed = true;
            log_warning(text(name_of(call_->function), ": ", error.what()));
        }
    }
    call_->unpacking =
        nullptr;  // frees a type: not in on_free(), which MPICH calls inside MPI_Wait
    real().Grequest_complete(handle_);
}

}  // namespace sinew::pmpi
