// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <map>
#include <memory>

#include "launchers/service/protocol.hpp"
#include "launchers/service/service_table.hpp"
#include "src/wire/link.hpp"

namespace sinew::launch::service {

/// A server announces itself so often; a registry forgets it after three times that without one.
inline constexpr auto announcement_period = std::chrono::seconds(2);

/// `sinew registry`: keeps the names under which servers have announced themselves.
class Registry {
public:
    Registry(wire::Loop& loop, wire::Address const& address, wire::Secret const& key,
             std::chrono::milliseconds expiry);
    Registry(Registry const&) = delete;

    wire::Address const& address() const { return listener_.address(); }

private:
    void accept(std::unique_ptr<wire::Link> link);
    ServerAnswer answer(wire::Message const& message);

    ServiceTable table_;
    std::map<std::uint64_t, std::unique_ptr<wire::Link>> links_;
    std::uint64_t next_link_ = 0;
    wire::Listener listener_;
};

}  // namespace sinew::launch::service
