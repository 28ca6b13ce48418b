// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <chrono>
#include <thread>

#include <sinew/error.hpp>

#include "src/base/text.hpp"
#include "src/base/waiting/interruption.hpp"
#include "src/comm/communicator_state.hpp"
#include "src/comm/shrink/shrinking.hpp"

namespace sinew::detail {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

namespace {

constexpr std::chrono::nanoseconds shortest_pause = 50us, longest_pause = 2ms;
/// How long a decision may take to leave this rank. Ranks to which it is still on its way get it from others, too.
constexpr auto time_to_send = 1s;

}  // namespace

void CommunicatorState::agree_on_survivors(std::chrono::nanoseconds limit) {
    auto const still = [&] {
        std::string names;
        for (int const rank : shrinking_->agreement().awaited())
            names += (names.empty() ? "" : ", ") + detector_.rank_text(rank);
        return text(detector_.self_text(), ": shrink waits for ", names,
                    ". Every rank that is left must call it");
    };
    auto pause = shortest_pause;
    auto last = Clock::now(), next_interrupt_check = last + interrupt_check_interval;
    while (!shrinking_->agreement().decision()) {
        auto const now = Clock::now();
        detector_.poll();  // the others may ask where this rank is
        if (shrinking_->advance()) {
            last = now;
            pause = shortest_pause;
            continue;
        }
        if (now - last > limit)
            throw Timeout(text(still(), "; nothing was heard for ",
                               std::chrono::duration<double>(now - last).count(),
                               " s. It may be called again"));
        if (now >= next_interrupt_check) {
            next_interrupt_check = now + interrupt_check_interval;
            if (interrupted()) throw Interrupted(text(still(), ". The program interrupted it"));
        }
        std::this_thread::sleep_for(pause);
        pause = std::min(pause * 2, longest_pause);
    }
    auto const until = Clock::now() + time_to_send;
    for (shrinking_->advance(); !shrinking_->all_sent() && Clock::now() < until;
         shrinking_->advance())
        std::this_thread::sleep_for(shortest_pause);
}

std::shared_ptr<CommunicatorState> CommunicatorState::shrink(std::chrono::nanoseconds limit) {
    auto const refuse = [&](char const* why) {
        throw UsageError(text(detector_.self_text(), ": shrink: ", why));
    };
    if (!transport_->outlives_ranks())
        refuse(
            "its messages pass through MPI, which does not go on without a rank. Start the program "
            "with SINEW_TRANSPORT=socket");
    if (shrunk_) refuse("it has been called before; go on with the communicator that it made");
    // So that ranks which wait for this one in a call leave it, and come here.
    if (!lost()) abandon("it shrinks this communicator");
    if (!shrinking_) shrinking_ = std::make_unique<Shrinking>(*transport_, shrink_tag);
    agree_on_survivors(limit.count() > 0 ? limit : settings_.deadlines.silent);

    auto const& decision = *shrinking_->agreement().decision();
    std::vector<int> members;
    for (int rank = 0; rank < transport_->size(); ++rank)
        if (decision.left[static_cast<std::size_t>(rank)] == 1) members.push_back(rank);
    if (decision.left[static_cast<std::size_t>(transport_->rank())] == 0)
        throw PeerLost(text(detector_.self_text(),
                            ": the ranks that are left go on without this one: ",
                            "one of them, or ", detector_.rank_text(decision.coordinator),
                            ", which decided, has lost the connection to it"));
    shrunk_ = true;
    return make_part(members, decision.lane, text(log_.name(), "/shrunk"));
}

}  // namespace sinew::detail
