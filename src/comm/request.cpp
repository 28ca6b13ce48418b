// SPDX-License-Identifier: Apache-2.0
#include <sinew/detail/deadline.hpp>
#include <sinew/request.hpp>

#include <exception>
#include <utility>

#include "src/base/log.hpp"
#include "src/base/waiting/polling_pause.hpp"
#include "src/comm/progress/engine.hpp"

namespace sinew {

Request& Request::operator=(Request&& other) noexcept {
    if (this == &other) return *this;
    finish();
    operation_ = std::move(other.operation_);
    return *this;
}

Request::~Request() { finish(); }

Received Request::wait() {
    if (!operation_) return {};
    operation_->await();
    operation_->engine().wait(*operation_, std::nullopt);
    return std::exchange(operation_, nullptr)->take_result();
}

bool Request::test(Received* received) {
    if (!operation_) return true;
    operation_->engine().drive();
    if (!operation_->done()) return false;
    Received const result = std::exchange(operation_, nullptr)->take_result();
    if (received != nullptr) *received = result;
    return true;
}

bool Request::ready() {
    if (!operation_) return true;
    operation_->await();
    operation_->engine().drive();
    return operation_->done();
}

bool Request::wait_for(std::chrono::nanoseconds limit, Received* received) {
    if (!operation_) return true;
    if (!operation_->engine().wait(*operation_, detail::deadline_after(limit))) return false;
    Received const result = std::exchange(operation_, nullptr)->take_result();
    if (received != nullptr) *received = result;
    return true;
}

bool Request::cancel() {
    if (!operation_ || !operation_->withdrawable || operation_->done()) return false;
    using Withdrawal = detail::Operation::Withdrawal;
    operation_->ask_to_withdraw();
    while (!operation_->done() && operation_->withdrawal() == Withdrawal::asked) {
        operation_->engine().drive();
        pause_between_polls();
    }
    if (operation_->withdrawal() != Withdrawal::done) return false;
    operation_->engine().wait(*operation_, std::nullopt);
    operation_ = nullptr;
    return true;
}

void Request::finish() noexcept try {
    if (operation_) operation_->disown();
    wait();
} catch (std::exception const& error) {
    log_warning(std::string("a request that was never waited for failed: ") + error.what());
} catch (...) {
    log_warning(
        "a request that was never waited for failed with an exception that is not a "
        "std::exception");
}

}  // namespace sinew
