// SPDX-License-Identifier: Apache-2.0
#include "src/comm/collective/persistent_call.hpp"

#include <sinew/error.hpp>

#include "src/base/text.hpp"

namespace sinew {

void PersistentRequest::start() {
    if (!call_)
        throw UsageError(
            "start of an empty PersistentRequest. Make one with Communicator::allreduce_init or "
            "its siblings");
    if (active())
        throw UsageError(text(call_->owned->call.text(),
                              " of a PersistentRequest is in progress. Wait for it before you "
                              "start it again"));
    request_ = call_->state->start(*call_);
}

bool PersistentRequest::active() const noexcept { return !request_.empty(); }
void PersistentRequest::wait() { request_.wait(); }
bool PersistentRequest::test() { return request_.test(); }
bool PersistentRequest::ready() { return request_.ready(); }
bool PersistentRequest::wait_for(std::chrono::nanoseconds limit) {
    return request_.wait_for(limit);
}

}  // namespace sinew
