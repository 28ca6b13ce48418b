// SPDX-License-Identifier: Apache-2.0
#include "collectives/channel.hpp"

#include <algorithm>

#include <sinew/error.hpp>

#include "src/base/text.hpp"

namespace sinew::collectives {

std::string WaitPolicy::name_of(int rank) const { return text("rank ", rank); }

Channel::Channel(Channel const& whole, std::span<int const> members)
    : transport_(whole.transport_), policy_(whole.policy_), tag_(whole.tag_), members_(members),
      rank_(static_cast<int>(std::ranges::find(members, whole.rank_) - members.begin())),
      size_(static_cast<int>(members.size())), spins_(whole.spins_), begun_(whole.begun_) {}

std::string Channel::subject() const {
    std::string subject = policy_.subject();
    return subject.empty() ? text("rank ", transport_.rank(), " of ", transport_.size()) : subject;
}

void Channel::refuse_call(int from) const {
    throw BackendError(
        text(subject(), ": ", policy_.name_of(from),
             " makes another call, or the same with another ",
             "size or root. All ranks must make the same calls in the same order; SINEW_CHECK=1 ",
             "compares them"),
        0);
}

void Channel::refuse_length(int from, std::size_t expected, std::size_t got) const {
    std::string const step = steps_ > 0 ? text(", at step ", step_, " of ", steps_) : "";
    throw BackendError(text(subject(), ": ", policy_.name_of(of_transport(from)), " sent ", got,
                            " bytes where ", expected, " were expected", step,
                            ". Do both ranks make the same calls, with the same counts? ",
                            "SINEW_CHECK=1 compares them"),
                       0);
}

}  // namespace sinew::collectives
