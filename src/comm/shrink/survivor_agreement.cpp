// SPDX-License-Identifier: Apache-2.0
#include "src/comm/shrink/survivor_agreement.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

namespace sinew::detail {

namespace {

struct Header {
    std::uint32_t magic = 0x73'68'72'6b;
    std::uint32_t kind = 0;
    std::int32_t coordinator = 0;
    std::uint32_t size = 0;
    std::uint64_t lane = 0;
};

}  // namespace

std::size_t SurvivorAgreement::Message::encoded_size(int size) {
    return sizeof(Header) + static_cast<std::size_t>(size);
}

std::vector<std::byte> SurvivorAgreement::Message::encoded() const {
    Header const header{.kind = static_cast<std::uint32_t>(kind),
                        .coordinator = coordinator,
                        .size = static_cast<std::uint32_t>(left.size()),
                        .lane = lane};
    std::vector<std::byte> bytes(sizeof(header) + left.size());
    std::memcpy(bytes.data(), &header, sizeof(header));
    std::memcpy(bytes.data() + sizeof(header), left.data(), left.size());
    return bytes;
}

std::optional<SurvivorAgreement::Message> SurvivorAgreement::Message::decode(
    std::span<std::byte const> bytes, int size) {
    Header header;
    if (bytes.size() != encoded_size(size)) return std::nullopt;
    std::memcpy(&header, bytes.data(), sizeof(header));
    auto const kind = static_cast<Kind>(header.kind);
    if (header.magic != Header{}.magic || header.size != static_cast<std::uint32_t>(size) ||
        (kind != Kind::report && kind != Kind::decision) || header.coordinator < 0 ||
        header.coordinator >= size)
        return std::nullopt;
    Message message{kind, header.coordinator, header.lane,
                    std::vector<std::uint8_t>(static_cast<std::size_t>(size))};
    std::memcpy(message.left.data(), bytes.data() + sizeof(header), message.left.size());
    if (std::ranges::any_of(message.left, [](std::uint8_t left) { return left > 1; }))
        return std::nullopt;
    return message;
}

SurvivorAgreement::SurvivorAgreement(int rank, int size, std::uint64_t lane)
    : rank_(rank), size_(size), lane_(lane), left_(static_cast<std::size_t>(size), 1),
      reports_(static_cast<std::size_t>(size)), decisions_(static_cast<std::size_t>(size)) {
    proceed();
}

bool SurvivorAgreement::lose(int rank) {
    if (rank == rank_ || is_lost(rank)) return false;
    left_[static_cast<std::size_t>(rank)] = 0;
    proceed();
    return true;
}

void SurvivorAgreement::receive(int from, Message message) {
    if (decision_ || from == rank_) return;
    auto const sender = static_cast<std::size_t>(from);
    if (message.kind == Kind::decision) decisions_[sender] = std::move(message);
    else if (message.coordinator == rank_) reports_[sender] = std::move(message);
    proceed();
}

std::vector<SurvivorAgreement::Outgoing> SurvivorAgreement::take_outgoing() {
    return std::exchange(outgoing_, {});
}

std::vector<int> SurvivorAgreement::awaited() const {
    if (decision_) return {};
    if (coordinator_ != rank_) return {coordinator_};
    std::vector<int> ranks;
    for (int r = 0; r < size_; ++r)
        if (r != rank_ && !is_lost(r) && !reports_[static_cast<std::size_t>(r)]) ranks.push_back(r);
    return ranks;
}

void SurvivorAgreement::proceed() {
    if (decision_) return;
    int coordinator = 0;
    while (is_lost(coordinator)) ++coordinator;  // ends at this rank
    if (coordinator != coordinator_) {
        coordinator_ = coordinator;
        if (coordinator != rank_)
            outgoing_.push_back({coordinator, {Kind::report, coordinator, lane_, left_}});
    }
    if (coordinator_ == rank_) return coordinate();
    if (auto const& its = decisions_[static_cast<std::size_t>(coordinator_)]) return decide(*its);
    Message const* const known = latest_known();
    if (known != nullptr && known->coordinator >= coordinator_) decide(*known);
}

SurvivorAgreement::Message const* SurvivorAgreement::latest_known() const {
    Message const* latest = nullptr;
    for (auto const& each : decisions_)
        if (each && (latest == nullptr || latest->coordinator < each->coordinator)) latest = &*each;
    return latest;
}

void SurvivorAgreement::coordinate() {
    if (Message const* const known = latest_known()) {
        Message adopted = *known;
        adopted.coordinator = std::max(adopted.coordinator, rank_);
        return decide(std::move(adopted));
    }
    if (!awaited().empty()) return;
    Message decision{Kind::decision, rank_, lane_, left_};
    for (int r = 0; r < size_; ++r) {
        if (r == rank_ || is_lost(r)) continue;
        Message const& report = *reports_[static_cast<std::size_t>(r)];
        decision.lane = std::max(decision.lane, report.lane);
        for (std::size_t other = 0; other < left_.size(); ++other)
            decision.left[other] &= report.left[other];
    }
    decide(std::move(decision));
}

void SurvivorAgreement::decide(Message decision) {
    for (int r = 0; r < size_; ++r)
        if (r != rank_ && !is_lost(r)) outgoing_.push_back({r, decision});
    decision_ = std::move(decision);
}

}  // namespace sinew::detail
