// SPDX-License-Identifier: Apache-2.0
#include "src/transport/socket_transport.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include <sinew/error.hpp>

#include "src/base/text.hpp"
#include "src/transport/socket_engine.hpp"

namespace sinew {

namespace {

detail::Transfer* transfer_of(Transport::Ticket ticket) {
    return reinterpret_cast<detail::Transfer*>(static_cast<std::uintptr_t>(ticket.handle));
}

/// Returns a null ticket for a null pointer.
template <class Transfer>
Transport::Ticket ticket_of(std::unique_ptr<Transfer> transfer) {
    detail::Transfer* const base = transfer.release();
    return {reinterpret_cast<std::uintptr_t>(base)};
}

void destroy(detail::Transfer* transfer) {
    if (transfer->send) delete static_cast<detail::Send*>(transfer);
    else delete static_cast<detail::Receive*>(transfer);
}

}  // namespace

SocketTransport::SocketTransport(std::unique_ptr<Connector> connector)
    : engine_(std::make_shared<detail::SocketEngine>(std::move(connector))),
      group_(engine_->world()), rank_(engine_->rank()) {}

SocketTransport::SocketTransport(std::shared_ptr<detail::SocketEngine> engine,
                                 std::shared_ptr<detail::SocketGroup> group)
    : engine_(std::move(engine)), group_(std::move(group)), rank_(group_->index(engine_->rank())) {}

SocketTransport::~SocketTransport() { engine_->leave(*group_); }

int SocketTransport::size() const { return static_cast<int>(group_->members.size()); }

int SocketTransport::max_tag() const { return std::numeric_limits<std::int32_t>::max(); }

void SocketTransport::check(int peer, int tag, char const* verb) const {
    if (peer < 0 || peer >= size() || tag < 0)
        throw UsageError(text("rank ", rank_, " of ", size(), " cannot ", verb, " rank ", peer,
                              " with tag ", tag, " (ranks are 0 to ", size() - 1,
                              ", tags are not negative). Is the call right?"));
}

int SocketTransport::in_job(int rank) const {
    return rank == any_source ? any_source : group_->members[static_cast<std::size_t>(rank)];
}

Transport::Ticket SocketTransport::start_send(int to, int tag, std::span<std::byte const> bytes) {
    check(to, tag, "send to");
    return ticket_of(engine_->start_send(*group_, in_job(to), tag, bytes));
}

Transport::Ticket SocketTransport::start_receive(int from, int tag, std::span<std::byte> bytes) {
    check(from == any_source ? rank_ : from, tag, "receive from");
    return ticket_of(engine_->start_receive(*group_, in_job(from), tag, bytes));
}

bool SocketTransport::test(Ticket& ticket, Received* received) {
    if (!ticket) return true;
    detail::Transfer* const transfer = transfer_of(ticket);
    if (!transfer->done.load(std::memory_order_acquire)) {
        engine_->progress();
        if (!transfer->done.load(std::memory_order_acquire)) return false;
    }
    ticket = {};
    std::unique_ptr<detail::Transfer, void (*)(detail::Transfer*)> const owner(transfer, destroy);
    if (transfer->send) return true;
    auto const& receive = static_cast<detail::Receive&>(*transfer);
    Received const got{group_->index(receive.source), receive.tag, receive.bytes};
    if (!receive.fits())
        throw BackendError(text("rank ", rank_, " of ", size(), ": the message of ", got.bytes,
                                " bytes from rank ", got.source, " with tag ", got.tag,
                                " is longer than the receive of ", receive.room,
                                " bytes. Do both ranks make the same calls?"),
                           0);
    if (received != nullptr) *received = got;
    return true;
}

void SocketTransport::cancel(Ticket& ticket) noexcept {
    if (!ticket) return;
    detail::Transfer* const transfer = transfer_of(ticket);
    ticket = {};
    engine_->cancel(*transfer);
    destroy(transfer);
}

bool SocketTransport::withdraw(Ticket& ticket) noexcept {
    if (!ticket || !engine_->withdraw(*transfer_of(ticket))) return false;
    destroy(transfer_of(std::exchange(ticket, {})));
    return true;
}

std::optional<Transport::Received> SocketTransport::probe(int from, int tag) {
    check(from == any_source ? rank_ : from, tag, "probe");
    auto found = engine_->probe(*group_, in_job(from), tag);
    if (found) found->source = group_->index(found->source);
    return found;
}

std::vector<int> SocketTransport::lost() {
    auto ranks = engine_->lost(*group_);
    for (int& rank : ranks) rank = group_->index(rank);
    std::sort(ranks.begin(), ranks.end());
    return ranks;
}

std::unique_ptr<Transport> SocketTransport::split(std::span<int const> members, std::uint64_t) {
    for (int const member : members) check(member, 0, "split with");
    if (std::find(members.begin(), members.end(), rank_) == members.end())
        throw UsageError(text("rank ", rank_, " of ", size(), " is not among the ", members.size(),
                              " members of its split. Name it, or leave the call out."));
    std::vector<int> ranks;
    for (int const member : members) ranks.push_back(in_job(member));
    return std::unique_ptr<Transport>(
        new SocketTransport(engine_, engine_->split(*group_, std::move(ranks))));
}

}  // namespace sinew
