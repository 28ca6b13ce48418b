// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <utility>

#include <sinew/comm/transport.hpp>

namespace sinew::testing_support {

/// Forwards every call to another transport, which it owns: for tests that change some of them.
class ForwardingTransport : public Transport {
public:
    explicit ForwardingTransport(std::unique_ptr<Transport> below) : below_(std::move(below)) {}

    int rank() const override { return below_->rank(); }
    int size() const override { return below_->size(); }
    std::string_view name() const override { return below_->name(); }
    Threading threading() const override { return below_->threading(); }
    int max_tag() const override { return below_->max_tag(); }
    Ticket start_send(int to, int tag, std::span<std::byte const> bytes) override {
        return below_->start_send(to, tag, bytes);
    }
    Ticket start_receive(int from, int tag, std::span<std::byte> bytes) override {
        return below_->start_receive(from, tag, bytes);
    }
    bool test(Ticket& ticket, Received* received) override {
        return below_->test(ticket, received);
    }
    void cancel(Ticket& ticket) noexcept override { below_->cancel(ticket); }
    bool withdraw(Ticket& ticket) noexcept override { return below_->withdraw(ticket); }
    bool holds_cancelled_buffers() const noexcept override {
        return below_->holds_cancelled_buffers();
    }
    std::optional<Received> probe(int from, int tag) override { return below_->probe(from, tag); }
    void abandon() noexcept override { below_->abandon(); }
    std::vector<int> lost() override { return below_->lost(); }
    bool outlives_ranks() const noexcept override { return below_->outlives_ranks(); }
    std::uint64_t free_lane() const override { return below_->free_lane(); }
    std::unique_ptr<Transport> split(std::span<int const> members, std::uint64_t lane) override {
        return below_->split(members, lane);
    }

private:
    std::unique_ptr<Transport> below_;
};

}  // namespace sinew::testing_support
