// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "launchers/service/service_entry.hpp"
#include "src/wire/link.hpp"

namespace sinew::launch::service {

/// Announces a server to a registry, again and again, so that it is not forgotten.
class Announcer {
public:
    /// `changed` is called when announcing fails, with the problem, and when it works again (empty).
    Announcer(wire::Loop& loop, wire::Address registry, wire::Secret const& key,
              ServiceEntry service, std::function<void(std::string const&)> changed);
    Announcer(Announcer const&) = delete;

private:
    void announce();
    void dial();
    void report(std::string const& problem);

    wire::Loop& loop_;
    wire::Address const registry_;
    wire::Credentials const credentials_;
    ServiceEntry const service_;
    std::function<void(std::string const&)> const changed_;
    std::unique_ptr<wire::Link> link_;
    std::string reported_;  ///< the problem that was logged last; empty: it works
    wire::Loop::Handle timer_, dialling_;
};

}  // namespace sinew::launch::service
