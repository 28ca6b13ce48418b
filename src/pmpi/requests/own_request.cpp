// SPDX-License-Identifier: Apache-2.0
#include "src/pmpi/requests/own_request.hpp"

#include <mutex>
#include <unordered_map>
#include <utility>

#include "src/base/log.hpp"
#include "src/base/text.hpp"
#include "src/pmpi/collective_call.hpp"

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

void OwnRequest::enter(MPI_Request handle) {
    handle_ = handle;
    Table& all = table();
    std::lock_guard const lock(all.mutex);
    all.by_handle[key_of(handle)] = this;
    count_.fetch_add(1, std::memory_order_release);
}

void OwnRequest::leave() {
    Table& all = table();
    std::lock_guard const lock(all.mutex);
    all.by_handle.erase(key_of(handle_));
    count_.fetch_sub(1, std::memory_order_release);
}

void OwnRequest::begin(std::shared_ptr<PendingCollective> call) {
    complete_ = false;
    waiter_.reset();
    call_ = std::move(call);
}

void OwnRequest::abandon() noexcept {
    queue_.fail();
    call_->failed = true;
    call_->ended.store(true, std::memory_order_release);
}

bool OwnRequest::try_complete() {
    if (complete_) return true;
    try {
        if (!call_->ended.load(std::memory_order_acquire)) queue_.progress();
        if (call_->ended.load(std::memory_order_acquire)) {
            finish();
            return true;
        }
        if (!waiter_) waiter_.emplace(queue_.route());
        waiter_->look_between_tests();
    } catch (std::exception const& error) {
        fail(error);
    }
    return complete_;
}

void OwnRequest::complete() {
    if (complete_) return;
    try {
        if (!call_->ended.load(std::memory_order_acquire)) queue_.await(*call_);
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
    try {
        call_->deliver();
    } catch (std::exception const& error) {
        call_->failed = true;
        log_warning(text(name_of(call_->function), ": ", error.what()));
    }
    on_complete();
}

}  // namespace sinew::pmpi
