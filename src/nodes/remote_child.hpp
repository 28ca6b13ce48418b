// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "src/base/system/unique_fd.hpp"
#include "src/nodes/remote_node.hpp"

namespace sinew::nodes {

/// A child of an agent: its messages go through the agent's link. `bulk().send` returns full while
/// the child has not taken enough of what was sent before, and `bulk_drained` follows.
class RemoteChild final : public process::Child {
public:
    /// Throws SystemError if there is no descriptor for the sentinel.
    RemoteChild(std::shared_ptr<RemoteNode> node, std::uint64_t number);
    ~RemoteChild() override;
    void on(Callbacks callbacks) override;
    /// 0 until the agent has reported it, which is before any message of the child.
    pid_t pid() const override { return pid_; }
    wire::Link& control() override { return control_; }
    wire::Link& bulk() override { return bulk_; }
    void hold_bulk(bool hold) override;
    /// Its state at the child's end, and before that at the start.
    process::StatusPage& status() const override { return status_; }
    void signal(int number) override;
    int sentinel() const override { return sentinel_.get(); }

private:
    friend class RemoteNode;
    /// The sending side of one of the child's two links.
    class Relayed final : public wire::Link {
    public:
        Relayed(RemoteChild& child, MessageKind kind) : child_(child), kind_(kind) {}
        void on(Callbacks) override {}
        wire::Flow send(std::uint8_t kind, std::uint16_t stream,
                        std::initializer_list<std::span<std::byte const>> parts) override;
        void flush() override;
        wire::Flow send_now(std::uint8_t kind, std::uint16_t stream,
                            std::initializer_list<std::span<std::byte const>> parts) override;
        void pause() override {}
        void resume() override {}
        void close(wire::Clock::duration) override {}
        wire::Identity const& peer() const override { return identity_; }
        std::size_t queued() const override { return 0; }
        std::string local_host() const override { return {}; }
        std::string peer_host() const override { return {}; }

    private:
        RemoteChild& child_;
        MessageKind const kind_;
        wire::Identity identity_;
    };
    void receive(MessageKind kind, std::uint64_t number, std::span<std::byte const> body);
    void acknowledge(std::uint64_t bytes);
    void node_is_suspect(bool suspect);
    void report_liveness();
    void end(Ending const& how);

    std::shared_ptr<RemoteNode> node_;
    std::uint64_t const number_;
    pid_t pid_ = 0;
    UniqueFd sentinel_;
    std::uint64_t unacknowledged_ = 0;  ///< bytes of bulk messages
    bool full_ = false;                 ///< `send` has returned `full`
    bool suspect_ = false, node_suspect_ = false, reported_suspect_ = false;
    bool ended_ = false;
    std::shared_ptr<Callbacks const> callbacks_;
    Relayed control_, bulk_;
    mutable process::StatusPage status_{};
};

}  // namespace sinew::nodes
