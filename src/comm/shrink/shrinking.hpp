// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <vector>

#include <sinew/comm/transport.hpp>

#include "src/comm/shrink/survivor_agreement.hpp"

namespace sinew::detail {

/// Carries the messages of a SurvivorAgreement over the transport of a lost communicator.
class Shrinking {
public:
    Shrinking(Transport& transport, int tag);
    Shrinking(Shrinking const&) = delete;
    Shrinking& operator=(Shrinking const&) = delete;
    ~Shrinking();

    /// Receives, notices deaths, and sends; does not wait. Returns whether a message came or a rank has died.
    bool advance();
    /// Whether all messages so far have left this rank, or were to ranks that have died.
    bool all_sent() const { return sending_.empty(); }
    SurvivorAgreement const& agreement() const { return agreement_; }

private:
    struct Transfer {
        Transport::Ticket ticket;
        std::vector<std::byte> bytes;
        int peer;
    };

    void start_receive(int from, std::size_t bytes);
    bool receive();
    bool notice_deaths();
    void send();
    bool has_ended(Transfer& transfer);

    Transport& transport_;
    int tag_;
    SurvivorAgreement agreement_;
    std::vector<Transfer> sending_, receiving_;
    std::vector<int> lost_;
};

}  // namespace sinew::detail
