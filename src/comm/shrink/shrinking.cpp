// SPDX-License-Identifier: Apache-2.0
#include "src/comm/shrink/shrinking.hpp"

#include <algorithm>
#include <span>
#include <utility>

#include <sinew/error.hpp>

#include "src/base/retained.hpp"

namespace sinew::detail {

Shrinking::Shrinking(Transport& transport, int tag)
    : transport_(transport), tag_(tag),
      agreement_(transport.rank(), transport.size(), transport.free_lane()) {}

Shrinking::~Shrinking() {
    for (Transfer& transfer : sending_) transport_.cancel(transfer.ticket);
    for (Transfer& transfer : receiving_) transport_.cancel(transfer.ticket);
    if (!transport_.holds_cancelled_buffers()) return;
    retain_value_until_exit(std::move(sending_));
    retain_value_until_exit(std::move(receiving_));
}

bool Shrinking::advance() {
    // Deaths are looked for before the last messages of the dead are received, and count after them.
    auto lost = transport_.lost();
    bool const received = receive();
    std::swap(lost_, lost);
    bool const noticed = notice_deaths();
    send();
    return received || noticed;
}

void Shrinking::start_receive(int from, std::size_t bytes) {
    Transfer transfer{{}, std::vector<std::byte>(bytes), from};
    receiving_.reserve(receiving_.size() + 1);
    transfer.ticket = transport_.start_receive(from, tag_, transfer.bytes);
    receiving_.push_back(std::move(transfer));
}

// As notices of the failure detector: a message that probe finds may never arrive completely.
bool Shrinking::receive() {
    std::size_t const longest = SurvivorAgreement::Message::encoded_size(transport_.size());
    while (auto const found = transport_.probe(any_source, tag_))
        start_receive(found->source, std::min(found->bytes, longest));
    // A transport notices the end of ranks from which it is to receive.
    for (int const rank : agreement_.awaited())
        if (std::ranges::find(receiving_, rank, &Transfer::peer) == receiving_.end())
            start_receive(rank, longest);
    bool any = false;
    for (std::size_t i = 0; i < receiving_.size();) {
        if (!has_ended(receiving_[i])) {
            ++i;
            continue;
        }
        Transfer const done = std::move(receiving_[i]);
        receiving_.erase(receiving_.begin() + static_cast<std::ptrdiff_t>(i));
        auto message = SurvivorAgreement::Message::decode(done.bytes, transport_.size());
        if (!message) continue;
        agreement_.receive(done.peer, *std::move(message));
        any = true;
    }
    return any;
}

bool Shrinking::notice_deaths() {
    bool any = false;
    for (int const rank : lost_) {
        any = agreement_.lose(rank) || any;
        std::erase_if(sending_, [&](Transfer& transfer) {
            if (transfer.peer != rank) return false;
            transport_.cancel(transfer.ticket);
            if (transport_.holds_cancelled_buffers())
                retain_value_until_exit(std::move(transfer.bytes));
            return true;
        });
    }
    return any;
}

void Shrinking::send() {
    for (auto const& [to, message] : agreement_.take_outgoing()) {
        Transfer transfer{{}, message.encoded(), to};
        sending_.reserve(sending_.size() + 1);
        try {
            transfer.ticket = transport_.start_send(to, tag_, transfer.bytes);
        } catch (Error const&) {
            continue;
        }
        sending_.push_back(std::move(transfer));
    }
    std::erase_if(sending_, [&](Transfer& transfer) { return has_ended(transfer); });
}

// An error is that of a rank which has died, or will be noticed to be dead.
bool Shrinking::has_ended(Transfer& transfer) {
    try {
        return transport_.test(transfer.ticket);
    } catch (Error const&) {
        return true;
    }
}

}  // namespace sinew::detail
