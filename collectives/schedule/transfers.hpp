// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <span>

#include "collectives/channel.hpp"
#include "collectives/schedule/scratch.hpp"

namespace sinew::collectives {

/// A window of concurrent transfers, in scratch memory. Transfer i takes the place of transfer i -
/// `window`, which must be done by then.
class Transfers {
public:
    Transfers(Scratch& scratch, std::size_t window) {
        std::size_t const places = std::max(window, std::size_t{1});
        auto* const memory = scratch.take(places * sizeof(Channel::Transfer)).data();
        auto* const first = reinterpret_cast<Channel::Transfer*>(memory);
        std::uninitialized_value_construct_n(first, places);
        places_ = {first, places};
    }
    Transfers(Transfers const&) = delete;
    Transfers& operator=(Transfers const&) = delete;
    ~Transfers() { std::destroy(places_.begin(), places_.end()); }

    std::size_t window() const { return places_.size(); }
    Channel::Transfer& operator[](std::size_t i) { return places_[i % places_.size()]; }
    void wait() {
        for (Channel::Transfer& transfer : places_) transfer.wait();
    }

private:
    std::span<Channel::Transfer> places_;
};

}  // namespace sinew::collectives
