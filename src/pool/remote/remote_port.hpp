// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <string>

#include "src/pool/master/reassembler.hpp"
#include "src/pool/remote/remote_node.hpp"

namespace sinew::pool {

/// A worker that a supervisor has started.
class RemotePort final : public WorkerHandle {
public:
    RemotePort(std::shared_ptr<RemoteNode> node, std::uint64_t worker);
    ~RemotePort() override;
    void on(Callbacks callbacks) override { callbacks_ = std::move(callbacks); }
    void send(Kind kind, std::initializer_list<std::span<std::byte const>> parts) override;
    void transfer(std::uint64_t id, std::span<std::byte const> bytes,
                  std::shared_ptr<void const> keep) override;
    void flush() override { node_->flush(); }
    void kill() override;
    std::string const& name() const override { return name_; }

private:
    friend class RemoteNode;
    struct Transfer {
        std::uint64_t id;
        std::span<std::byte const> left;
        std::uint64_t total;
        std::shared_ptr<void const> keep;
    };
    /// One of its pieces. True: it has more, and room on the way.
    bool send_piece();
    bool may_send() const { return !transfers_.empty() && under_way_ < relay_window; }
    void started(std::uint64_t pid);
    void taken(std::uint64_t bytes);
    void suspect(bool own);
    void node_suspect(bool node);
    void tell_liveness();

    std::shared_ptr<RemoteNode> node_;
    std::uint64_t const worker_;
    std::string name_;
    Callbacks callbacks_;
    Reassembler incoming_;
    std::deque<Transfer> transfers_;
    std::uint64_t under_way_ = 0;  ///< bytes of pieces that its supervisor still has
    bool wanting_ = false;
    bool suspect_ = false, node_suspect_ = false, told_suspect_ = false;
};

}  // namespace sinew::pool
