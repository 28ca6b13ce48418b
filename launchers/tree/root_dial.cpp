// SPDX-License-Identifier: Apache-2.0
#include "launchers/tree/root_dial.hpp"

#include <algorithm>
#include <cstdint>
#include <sinew/error.hpp>
#include <utility>

namespace sinew::launch {
namespace {

// Before the next address is tried as well. A root that thousands of agents dial needs some time for
// each, and none should connect to it twice.
constexpr wire::Clock::duration longest_delay = std::chrono::milliseconds(500);

}  // namespace

RootDial::RootDial(wire::Loop& loop, std::vector<std::string> const& addresses,
                   wire::Credentials const& credentials, wire::LinkOptions const& options,
                   wire::Clock::duration patience, std::function<void(wire::Dialled)> done)
    : loop_(loop), credentials_(credentials), options_(options), done_(std::move(done)),
      left_(addresses.size()) {
    if (addresses.empty()) throw UsageError("an agent was given no address of the root to dial");
    all_.unreachable = true;
    auto const share = patience / static_cast<std::int64_t>(addresses.size());
    auto const delay = std::clamp(share, wire::Clock::duration::zero(), longest_delay);
    for (std::size_t i = 0; i < addresses.size(); ++i) {
        auto const wait = static_cast<std::int64_t>(i) * delay;
        auto const begin = [this, address = wire::Address::parse(addresses[i]),
                            left = patience - wait] { dial(address, left); };
        if (i == 0) begin();
        else under_way_.push_back(loop_.after(wait, begin));
    }
}

void RootDial::dial(wire::Address const& address, wire::Clock::duration patience) {
    under_way_.push_back(wire::dial(loop_, address, credentials_, options_, patience,
                                    [this](auto dialled) { ended(std::move(dialled)); }));
}

void RootDial::ended(wire::Dialled dialled) {
    --left_;
    all_.attempts += dialled.attempts;
    if (dialled.link) {
        all_.link = std::move(dialled.link);
    } else {
        if (all_.error.empty() || (all_.unreachable && !dialled.unreachable))
            all_.error = std::move(dialled.error);
        all_.unreachable = all_.unreachable && dialled.unreachable;
        if (left_ > 0) return;
    }
    under_way_.clear();
    auto const done = std::exchange(done_, nullptr);
    done(std::move(all_));
}

}  // namespace sinew::launch
