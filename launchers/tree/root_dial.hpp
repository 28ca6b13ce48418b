// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "src/wire/link.hpp"

namespace sinew::launch {

/// Dials the addresses of one root side by side, each half a second after the one before at most,
/// and gives the first link: a root is not missed while another address is tried, and one that
/// answers at its first address is not connected to twice. For the loop's thread only.
class RootDial {
public:
    /// `done` is called once, with the link, or when all addresses have failed: with the reason of
    /// one that has refused, else of the first, and `unreachable` if none has accepted a
    /// connection. It may destroy this object; destroying it earlier gives up without a call.
    /// `patience`: for all of them. Throws UsageError without an address.
    RootDial(wire::Loop& loop, std::vector<std::string> const& addresses,
             wire::Credentials const& credentials, wire::LinkOptions const& options,
             wire::Clock::duration patience, std::function<void(wire::Dialled)> done);

private:
    void dial(wire::Address const& address, wire::Clock::duration patience);
    void ended(wire::Dialled dialled);

    wire::Loop& loop_;
    wire::Credentials const credentials_;
    wire::LinkOptions const options_;
    std::function<void(wire::Dialled)> done_;
    std::vector<wire::Loop::Handle> under_way_;
    std::size_t left_;  ///< addresses that have not failed
    wire::Dialled all_;
};

}  // namespace sinew::launch
