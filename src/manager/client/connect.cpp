// SPDX-License-Identifier: Apache-2.0
//
// Connects to managers of other sessions that listen for guests (ManagerOptions::listen).
#include <algorithm>
#include <sinew/manager.hpp>
#include <sinew/task/encoding.hpp>
#include <utility>

#include "src/base/text.hpp"
#include "src/manager/manager_state.hpp"
#include "src/process/auth_key.hpp"

namespace sinew {
namespace manager {

std::string guest_address(std::string const& written) {
    if (written.starts_with("unix:") || written.starts_with("tcp:"))
        return wire::Address::parse(written).text();
    return wire::Address::parse("tcp:" + written).text();
}

}  // namespace manager

using process::Lock;

Manager Manager::connect(std::string const& address, AuthKey const& authkey,
                         ConnectOptions options) {
    auto const place = manager::guest_address(address);
    auto state = std::make_unique<State>(ManagerOptions());
    auto& messenger = state->registry.messenger();
    auto const deadline =
        process::Clock::now() +
        std::min<std::chrono::nanoseconds>(options.timeout, std::chrono::hours(24 * 365));
    Lock lock(messenger.guard());
    auto const connection = state->registry.host(place, process::secret_of(authkey),
                                                 options.timeout, options.max_pending_calls);
    auto const asked = connection->ask(lock, manager::Op::meet, 0, {});
    if (lock.owns_lock()) lock.unlock();
    // Waits slightly longer than the dial does, because the error of the dial states the cause.
    bool const answered = asked->wait_until(deadline + std::chrono::milliseconds(250));
    lock.lock();
    if (!answered || connection->is_lost())
        throw ConnectFailed(text("no manager can be reached at ", place, " (",
                                 answered ? connection->why_lost()
                                          : "no answer within " + manager::seconds(options.timeout),
                                 "). Is it running, and is this its authkey()?"));
    lock.unlock();
    auto reader = asked->result();  // throws UsageError if it is another build
    lock.lock();
    connection->introduce(process::ProcessAddress::decode_from(reader));
    state->connection = connection;
    state->options.name = connection->name();
    state->guests = place;
    state->options.authkey = authkey;
    return Manager(std::move(state));
}

std::string const& Manager::address() const {
    if (state_->guests.empty())
        throw UsageError(text(state_->options.name,
                              " has no address for other sessions (it was not told to listen for "
                              "them). See ManagerOptions::listen"));
    return state_->guests;
}

AuthKey const& Manager::authkey() const {
    static_cast<void>(address());
    return *state_->options.authkey;
}

}  // namespace sinew
