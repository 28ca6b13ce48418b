// SPDX-License-Identifier: Apache-2.0
#include "src/nodes/meeting.hpp"

#include <algorithm>
#include <cerrno>
#include <condition_variable>
#include <sinew/error.hpp>
#include <utility>

namespace sinew::nodes {

std::vector<std::string> outer_addresses() {
    std::vector<std::string> v4, v6;
    for (auto const& each : wire::interfaces()) {
        if (each.loopback || each.address.rfind("fe80", 0) == 0) continue;
        (each.address.find(':') == std::string::npos ? v4 : v6).push_back(each.address);
    }
    auto found = v4.empty() ? v6 : v4;
    if (found.empty())
        throw SystemError(
            "other hosts cannot reach this process (no network interface but loopback is up). See "
            "ip address",
            ENETUNREACH);
    return found;
}

void be_reachable(process::Runtime& runtime, std::string const& address) {
    auto const words = runtime.addresses();
    bool const already = std::any_of(words.begin(), words.end(), [](auto const& each) {
        return wire::Address::parse(each).family == wire::Address::Family::tcp;
    });
    if (!already) runtime.listen_on_network(address);
}

std::unique_ptr<wire::Link> dial_any(process::Runtime& runtime,
                                     std::vector<std::string> const& addresses,
                                     wire::Credentials const& self,
                                     wire::LinkOptions const& options,
                                     wire::Clock::duration patience, std::string& problem) {
    std::unique_lock lock(runtime.guard());
    std::condition_variable changed;
    std::unique_ptr<wire::Link> link;
    std::size_t failed = 0;
    std::vector<wire::Loop::Handle> dialling;
    for (auto const& address : addresses)
        dialling.push_back(wire::dial(runtime.loop(), wire::Address::parse(address), self, options,
                                      patience, [&](wire::Dialled dialled) {
                                          if (!dialled.link) {
                                              ++failed;
                                              problem = dialled.error;
                                          } else if (!link) {
                                              link = std::move(dialled.link);
                                          }
                                          changed.notify_all();
                                      }));
    changed.wait(lock, [&] { return link || failed == dialling.size(); });
    if (link) problem.clear();
    return link;
}

}  // namespace sinew::nodes
