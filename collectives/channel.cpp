// SPDX-License-Identifier: Apache-2.0
#include "collectives/channel.hpp"

#include <sinew/error.hpp>

#include "src/base/text.hpp"

namespace sinew::collectives {

std::string WaitPolicy::name_of(int rank) const { return text("rank ", rank); }

void Channel::refuse_length(int from, std::size_t expected, std::size_t got) const {
    std::string subject = policy_.subject();
    if (subject.empty()) subject = text("rank ", rank_, " of ", size_);
    std::string const step = steps_ > 0 ? text(", at step ", step_, " of ", steps_) : "";
    throw BackendError(
        text(subject, ": ", policy_.name_of(from), " sent ", got, " bytes where ", expected,
             " were expected", step, ". Do both ranks make the same calls, with the same counts? ",
             "SINEW_CHECK=1 compares them"),
        0);
}

}  // namespace sinew::collectives
