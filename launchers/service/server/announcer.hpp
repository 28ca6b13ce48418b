// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "launchers/service/service_entry.hpp"
#include "src/wire/link.hpp"

namespace sinew::launch::service {

/// Announces a server to a registry, again and again, so that it is not forgotten.
class Announcer {
public:
    Announcer(wire::Loop& loop, wire::Address registry, wire::Secret const& key,
              ServiceEntry service);
    Announcer(Announcer const&) = delete;

private:
    void announce();
    void dial();
    void report(std::string const& problem);

    wire::Loop& loop_;
    wire::Address const registry_;
    wire::Credentials const credentials_;
    ServiceEntry const service_;
    std::unique_ptr<wire::Link> link_;
    std::string reported_;  ///< the problem that was logged last; empty: it works
    wire::Loop::Handle timer_, dialling_;
};

}  // namespace sinew::launch::service
