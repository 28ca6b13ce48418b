// SPDX-License-Identifier: Apache-2.0
#include "src/pmpi/requests/background_collective.hpp"

#include <algorithm>
#include <utility>

namespace sinew::pmpi {

void BackgroundCollective::prepare(Algorithm algorithm, collectives::Arguments const& args) {
    algorithm_ = algorithm;
    args_ = args;
    if (args.reduce == nullptr) return;
    reducer_ = *args.reduce;
    args_.reduce = &*reducer_;
}

std::size_t BackgroundCollective::bytes(int ranks) const {
    std::size_t const parts = std::max(args_.blocks.largest(ranks), args_.sent.largest(ranks));
    return std::max(args_.bytes(), parts * static_cast<std::size_t>(ranks));
}

void BackgroundCollective::execute(node_memory::Room& room, node_memory::Waiter& waiter) const {
    if (algorithm_ != nullptr) algorithm_({room, waiter, args_});
}

void BackgroundCollective::deliver() {
    auto const delivery = std::exchange(delivery_, nullptr);
    if (delivery && !failed) delivery();
    kept_ = nullptr;
}

}  // namespace sinew::pmpi
