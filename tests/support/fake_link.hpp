// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "src/wire/link.hpp"

namespace sinew::testing_support {

/// A link without a peer: sent messages go to `heard`, and the fuzz target supplies received ones.
class FakeLink final : public wire::Link {
public:
    /// Returns whether the link is full.
    using Heard = std::function<wire::Flow(std::uint8_t kind, std::vector<std::byte> const& frame)>;
    FakeLink(wire::Loop& loop, Heard heard)
        : loop_(loop), shared_(std::make_shared<Callbacks>()), heard_(std::move(heard)) {}
    ~FakeLink() override { *shared_ = inert(); }

    void on(Callbacks callbacks) override { *shared_ = std::move(callbacks); }
    wire::Flow send(std::uint8_t kind, std::uint16_t,
                    std::initializer_list<std::span<std::byte const>> parts) override {
        std::vector<std::byte> frame;
        for (auto const part : parts) frame.insert(frame.end(), part.begin(), part.end());
        return heard_(kind, frame);
    }
    void flush() override {}
    void pause() override {}
    void resume() override {}
    wire::Flow send_now(std::uint8_t kind, std::uint16_t stream,
                        std::initializer_list<std::span<std::byte const>> parts) override {
        return send(kind, stream, parts);
    }
    void close(wire::Clock::duration) override {
        loop_.post([callbacks = shared_] {
            auto const now = *callbacks;  // the link may be destroyed within
            if (now.end) now.end({.cause = wire::LinkEnd::Cause::closed, .peer = {}, .text = ""});
        });
    }
    wire::Identity const& peer() const override { return peer_; }
    std::size_t queued() const override { return 0; }
    std::string local_host() const override { return ""; }
    std::string peer_host() const override { return ""; }

    /// Received messages are passed through a copy of the callbacks, which outlives the link: like
    /// a real link, it makes no calls after its destruction.
    std::shared_ptr<Callbacks> callbacks() const { return shared_; }

private:
    static Callbacks inert() {
        return {.message = [](auto const&) {}, .end = [](auto const&) {}};
    }
    wire::Loop& loop_;
    std::shared_ptr<Callbacks> shared_;
    Heard heard_;
    wire::Identity peer_{.node = 1, .slot = 0, .epoch = 0, .name = "a wild rank"};
};

}  // namespace sinew::testing_support
