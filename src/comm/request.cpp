// SPDX-License-Identifier: Apache-2.0
#include <sinew/detail/deadline.hpp>
#include <sinew/request.hpp>

#include <exception>
#include <utility>

#include "src/base/log.hpp"
#include "src/comm/progress/request_state.hpp"

namespace sinew {

Request& Request::operator=(Request&& other) noexcept {
    if (this == &other) return *this;
    finish();
    state_ = std::move(other.state_);
    return *this;
}

Request::~Request() {
    if (state_) finish();
}

Received Request::wait() {
    if (!state_) return {};
    state_->await();
    state_->wait(std::nullopt);
    return std::exchange(state_, nullptr)->take_result();
}

bool Request::test(Received* received) {
    if (!state_) return true;
    if (!state_->poll()) return false;
    Received const result = std::exchange(state_, nullptr)->take_result();
    if (received != nullptr) *received = result;
    return true;
}

bool Request::ready() {
    if (!state_) return true;
    state_->await();
    return state_->poll();
}

bool Request::wait_for(std::chrono::nanoseconds limit, Received* received) {
    if (!state_) return true;
    if (!state_->wait(detail::deadline_after(limit))) return false;
    Received const result = std::exchange(state_, nullptr)->take_result();
    if (received != nullptr) *received = result;
    return true;
}

bool Request::cancel() {
    if (!state_ || !state_->withdraw()) return false;
    state_ = nullptr;
    return true;
}

void Request::finish() noexcept try {
    if (state_) state_->disown();
    wait();
} catch (std::exception const& error) {
    log_warning(std::string("a request that was never waited for failed: ") + error.what());
} catch (...) {
    log_warning(
        "a request that was never waited for failed with an exception that is not a "
        "std::exception");
}

}  // namespace sinew
