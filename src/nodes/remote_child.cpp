// SPDX-License-Identifier: Apache-2.0
#include "src/nodes/remote_child.hpp"

#include <sys/eventfd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <sinew/error.hpp>
#include <utility>

#include "src/base/text.hpp"

namespace sinew::nodes {
namespace {

UniqueFd make_sentinel() {
    UniqueFd made(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    if (made.get() < 0)
        throw SystemError(text("eventfd failed (", std::strerror(errno), "). See ulimit -n"),
                          errno);
    return made;
}

}  // namespace

wire::Flow RemoteChild::Relayed::send(std::uint8_t kind, std::uint16_t,
                                      std::initializer_list<std::span<std::byte const>> parts) {
    auto& sender = child_.node_->sender_;
    Head const head{child_.number_, kind};
    if (kind_ == MessageKind::to_control) {
        sender.send(kind_, head, parts);
        return wire::Flow::go;
    }
    for (auto const part : parts) child_.unacknowledged_ += part.size();
    sender.send_in_turn(kind_, head, parts);
    child_.full_ = child_.unacknowledged_ >= bulk_window;
    return child_.full_ ? wire::Flow::full : wire::Flow::go;
}

void RemoteChild::Relayed::flush() { child_.node_->sender_.flush(); }

wire::Flow RemoteChild::Relayed::send_now(std::uint8_t kind, std::uint16_t stream,
                                          std::initializer_list<std::span<std::byte const>> parts) {
    auto const flow = send(kind, stream, parts);
    flush();
    return flow;
}

RemoteChild::RemoteChild(std::shared_ptr<RemoteNode> node, std::uint64_t number)
    : node_(std::move(node)), number_(number), sentinel_(make_sentinel()),
      control_(*this, MessageKind::to_control), bulk_(*this, MessageKind::to_bulk) {
    status_.running = ~std::uint64_t{0};
}

RemoteChild::~RemoteChild() {
    if (!process::Runtime::forked() && !ended_) node_->forget(number_);
}

void RemoteChild::on(Callbacks callbacks) {
    callbacks_ = std::make_shared<Callbacks const>(std::move(callbacks));
}

void RemoteChild::hold_bulk(bool hold) {
    node_->sender_.send(MessageKind::hold, {number_, hold ? 1U : 0U});
}

void RemoteChild::signal(int number) {
    node_->sender_.send(MessageKind::signal, {number_, static_cast<std::uint64_t>(number)});
    node_->sender_.flush();
}

void RemoteChild::receive(MessageKind kind, std::uint64_t number, std::span<std::byte const> body) {
    if (kind == MessageKind::started) {
        pid_ = static_cast<pid_t>(number);
        return;
    }
    if (kind == MessageKind::acknowledged) return acknowledge(number);
    if (kind == MessageKind::suspect) {
        suspect_ = number != 0;
        return report_liveness();
    }
    auto const callbacks = callbacks_;  // this object may be destroyed by them
    if (!callbacks) return;
    auto const& take = kind == MessageKind::from_control ? callbacks->control : callbacks->bulk;
    if (take) take({static_cast<std::uint8_t>(number), 0, body});
}

void RemoteChild::acknowledge(std::uint64_t bytes) {
    unacknowledged_ -= std::min(bytes, unacknowledged_);
    if (unacknowledged_ >= bulk_window || !std::exchange(full_, false)) return;
    auto const callbacks = callbacks_;
    if (callbacks && callbacks->bulk_drained) callbacks->bulk_drained();
}

void RemoteChild::node_is_suspect(bool suspect) {
    node_suspect_ = suspect;
    report_liveness();
}

void RemoteChild::report_liveness() {
    bool const now = suspect_ || node_suspect_;
    if (std::exchange(reported_suspect_, now) == now) return;
    auto const callbacks = callbacks_;
    if (callbacks && callbacks->liveness)
        callbacks->liveness(now ? wire::Liveness::suspect : wire::Liveness::alive);
}

void RemoteChild::end(Ending const& how) {
    ended_ = true;
    status_.running = how.running;
    status_.verdict = how.verdict;
    ::eventfd_write(sentinel_.get(), 1);
    auto const callbacks = callbacks_;
    if (callbacks && callbacks->ended) callbacks->ended(how.end);
}

}  // namespace sinew::nodes
