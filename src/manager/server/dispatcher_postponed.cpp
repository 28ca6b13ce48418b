// SPDX-License-Identifier: Apache-2.0
// Of a manager's dispatcher: calls that their objects answer later.
#include <iterator>
#include <sinew/manager/deferred.hpp>
#include <utility>

#include "src/manager/server/dispatcher.hpp"

namespace sinew::manager {
namespace {

bool hears(std::shared_ptr<void> const& instance) {
    return std::get_deleter<detail::CallerObserver>(instance) != nullptr;
}

}  // namespace

Fate Dispatcher::postpone(Work const& work, std::size_t index,
                          std::shared_ptr<Postponed> const& call, bool caller_there) {
    auto fate = Fate::waits;
    if (ended_) fate = Fate::ended;
    else if (!caller_there) fate = Fate::lost;
    else if (work.calls->withdrawn(index)) fate = Fate::cancelled;
    if (fate != Fate::waits) return call->claim() ? fate : Fate::waits;
    if (!call->claimed())
        objects_.at(work.object).postponed.emplace(std::pair(call->client, call->number), call);
    return fate;
}

void Dispatcher::answered(ObjectId id, Client client, std::uint64_t number) {
    auto const found = objects_.find(id);
    if (found == objects_.end()) return;
    found->second.postponed.erase({client, number});
    list(id, found->second);
}

// Before its turn comes, more may be: once is enough.
void Dispatcher::note_withdrawn(Object& object) {
    if (!hears(object.instance) || std::exchange(object.withdrawn_noted, true)) return;
    Call notice;
    notice.notice = ObjectEvent::withdrawn;
    object.calls.push_back(std::move(notice));
}

// Nothing: it does not wait.
std::optional<bool> Dispatcher::end_wait(ObjectId id, Object& object, Client client,
                                         std::uint64_t number) {
    auto const found = object.postponed.find({client, number});
    if (found == object.postponed.end()) return std::nullopt;
    if (!found->second->claim()) return false;
    object.postponed.erase(found);
    note_withdrawn(object);
    list(id, object);
    return true;
}

bool Dispatcher::withdraw(ObjectId id, Client client, std::uint64_t number) {
    auto const found = objects_.find(id);
    if (found == objects_.end()) return false;
    auto& object = found->second;
    if (auto const ended = end_wait(id, object, client, number)) return *ended;
    auto const is_it = [&](Call const& each) {
        return each.client == client && each.number == number;
    };
    for (auto& each : object.calls)
        if (is_it(each)) each.withdrawn = true;
    for (auto& [sequence, early] : object.rows[client].early)
        if (early.call && is_it(*early.call)) early.call->withdrawn = true;
    for (auto const& batch : object.batches)
        for (std::size_t i = 0; i < batch->size(); ++i)
            if (is_it((*batch)[i])) batch->withdraw(i);
    return false;
}

// Its one-way calls that have not begun come before the notice.
void Dispatcher::lose_postponed(Object& object, Client client) {
    auto later = object.postponed.lower_bound({client, 0});
    while (later != object.postponed.end() && later->first.first == client)
        later = later->second->claim() ? object.postponed.erase(later) : std::next(later);
    if (object.made && !hears(object.instance)) return;
    Call notice;
    notice.notice = ObjectEvent::lost;
    notice.client = client;
    object.calls.push_back(std::move(notice));
}

}  // namespace sinew::manager
