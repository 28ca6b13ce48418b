// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "src/process/runtime.hpp"

namespace sinew::fuzz {

/// A fake peer process: the fuzz target supplies its messages and records what is sent to it.
class FakePeer final : public process::Peer {
public:
    using Heard = std::function<void(std::uint8_t kind, std::vector<std::byte> const& frame)>;
    explicit FakePeer(Heard heard, process::PeerTrust trust = process::PeerTrust::same_session)
        : heard_(std::move(heard)), trust_(trust) {}
    wire::Flow send(std::uint8_t kind,
                    std::initializer_list<std::span<std::byte const>> parts) override;
    wire::Flow send_now(std::uint8_t kind,
                        std::initializer_list<std::span<std::byte const>> parts) override {
        return send(kind, parts);
    }
    void flush() override {}
    bool lost() const override { return lost_; }
    std::string const& name() const override { return name_; }
    process::PeerTrust trust() const override { return trust_; }
    void drop(std::string const& why) override;
    void lose() { lost_ = true; }

private:
    Heard heard_;
    process::PeerTrust const trust_;
    std::string const name_ = "a wild process";
    bool lost_ = false;
};

/// Replaces src/process/runtime.cpp at link time: a loop and its thread, without sockets. The peers
/// are those of the fuzz target, named "tcp:127.0.0.1:1", ":2", ...
struct FakeRuntime {
    static FakeRuntime& instance();
    FakeRuntime();

    /// All methods: guard held.
    void message(std::shared_ptr<FakePeer> const& from, std::uint8_t kind,
                 std::span<std::byte const> frame);
    void lose(std::shared_ptr<FakePeer> const& peer);
    static std::string address(std::size_t peer);

    std::mutex guard;
    wire::Loop loop{guard};
    process::LoopLeader loop_leader{loop, [](std::exception const&) {}};
    std::vector<process::Service> services;
    std::vector<std::shared_ptr<FakePeer>> peers;
    std::string folder;  ///< removed at exit
    std::thread thread;
};

}  // namespace sinew::fuzz
