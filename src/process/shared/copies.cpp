// SPDX-License-Identifier: Apache-2.0
#include "src/process/shared/copies.hpp"

#include <algorithm>
#include <utility>

namespace sinew::process {

SharedCopies::Answer SharedCopies::asked(std::string const& host, PeerPointer const& by) {
    auto const [found, is_first] = hosts_.try_emplace(host);
    Host& there = found->second;
    // A holder that asks again has lost its copy. (A restarted process is another peer.)
    if (is_first || there.holder == by) {
        there.holder = by;
        return Answer::ship;
    }
    if (there.place.is_file()) return Answer::at;
    there.waiting.push_back(by);
    return Answer::wait;
}

std::vector<SharedCopies::PeerPointer> SharedCopies::arrived(PeerPointer const& at,
                                                             FilePlace const& place) {
    for (auto& [host, there] : hosts_) {
        if (there.holder != at) continue;
        there.place = place;
        return std::exchange(there.waiting, {});
    }
    return {};
}

std::vector<SharedCopies::PeerPointer> SharedCopies::lost(PeerPointer const& peer) {
    std::vector<PeerPointer> next;
    for (auto at = hosts_.begin(); at != hosts_.end();) {
        Host& host = at->second;
        std::erase(host.waiting, peer);
        if (host.holder != peer) {
            ++at;
        } else if (host.waiting.empty()) {
            at = hosts_.erase(at);
        } else {
            host.holder = host.waiting.front();
            host.place = {};
            host.waiting.erase(host.waiting.begin());
            next.push_back(host.holder);
            ++at;
        }
    }
    return next;
}

std::vector<SharedCopies::PeerPointer> SharedCopies::holders() const {
    std::vector<PeerPointer> all;
    for (auto const& [host, there] : hosts_) all.push_back(there.holder);
    return all;
}

}  // namespace sinew::process
