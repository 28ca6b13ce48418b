// SPDX-License-Identifier: Apache-2.0
#include "src/manager/server/promises.hpp"

#include <sinew/task/encoding.hpp>

#include "src/process/rpc/process_address.hpp"

namespace sinew::manager {

void Promises::expect(Client client, std::uint64_t number, bool makes,
                      process::Reservation reserved) {
    auto& promise = promises_[{client, number}];
    promise.makes = makes;
    promise.reserved = std::move(reserved);
}

Promises::Outcome const* Promises::find(Client client, std::uint64_t number) const {
    auto const found = promises_.find({client, number});
    return found != promises_.end() ? &found->second.outcome : nullptr;
}

void Promises::wait(Client client, std::uint64_t number, Call call) {
    promises_.at({client, number}).waiting.push_back(std::move(call));
}

Promises::Outcome Promises::outcome_of(Promise const& promise, Op op,
                                       std::span<std::byte const> bytes, std::uint64_t origin) {
    if (op == Op::elsewhere) return {State::elsewhere, 0, op, {}};
    if (op != Op::value) return {State::failed, 0, op, {bytes.begin(), bytes.end()}};
    try {
        Reader reader(bytes);
        if (promise.makes) return {State::here, decode<ObjectId>(reader), op, {}};
        auto const home = process::ProcessAddress::decode_from(reader);
        if (home.origin != origin) return {State::elsewhere, 0, op, {}};
        return {State::here, decode<ObjectId>(reader), op, {}};
    } catch (DecodeError const&) {
        return {State::failed, 0, Op::gone, {}};  // the result was not a handle
    }
}

std::optional<Promises::Settled> Promises::answered(Client client, std::uint64_t number, Op op,
                                                    std::span<std::byte const> bytes,
                                                    std::uint64_t origin) {
    auto const found = promises_.find({client, number});
    if (found == promises_.end() || found->second.outcome.state != State::waiting)
        return std::nullopt;
    auto& promise = found->second;
    promise.outcome = outcome_of(promise, op, bytes, origin);
    Settled settled{promise.outcome, std::move(promise.waiting)};
    promise.waiting.clear();
    if (promise.forgotten) promises_.erase(found);
    return settled;
}

bool Promises::cancel(Client client, std::uint64_t number) {
    auto const is_it = [number](Call const& each) { return each.number == number; };
    for (auto at = promises_.lower_bound({client, 0});
         at != promises_.end() && at->first.first == client; ++at)
        if (std::erase_if(at->second.waiting, is_it) > 0) return true;
    return false;
}

std::vector<ObjectId> Promises::objects_of(Client client) const {
    std::vector<ObjectId> objects;
    for (auto at = promises_.lower_bound({client, 0});
         at != promises_.end() && at->first.first == client; ++at)
        if (at->second.outcome.state == State::here) objects.push_back(at->second.outcome.object);
    return objects;
}

void Promises::forget(Client client, std::uint64_t number) {
    auto const found = promises_.find({client, number});
    if (found == promises_.end()) return;
    if (found->second.outcome.state != State::waiting) promises_.erase(found);
    else found->second.forgotten = true;
}

void Promises::lost(Client client) {
    std::erase_if(promises_, [client](auto const& each) { return each.first.first == client; });
}

}  // namespace sinew::manager
