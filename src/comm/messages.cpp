// SPDX-License-Identifier: Apache-2.0
// Point-to-point calls of a communicator.
#include <sinew/error.hpp>

#include "src/base/text.hpp"
#include "src/comm/communicator_state.hpp"
#include "src/comm/device/device_message.hpp"

namespace sinew::detail {

/// The tickets of a message in progress. The destructor cancels those that are not done.
class MessageTickets {
public:
    explicit MessageTickets(Transport& transport) : transport_(transport) {}
    MessageTickets(MessageTickets const&) = delete;
    ~MessageTickets() {
        if (receiving) transport_.cancel(receiving);
        if (sending) transport_.cancel(sending);
    }
    void start(PointToPoint const& message) {
        int const tag = message.tag + first_user_tag;
        if (message.in)
            receiving = transport_.start_receive(
                message.from, tag,
                {static_cast<std::byte*>(message.in->data), message.in->bytes()});
        if (message.out)
            sending = transport_.start_send(
                message.to, tag,
                {static_cast<std::byte const*>(message.out->data), message.out->bytes()});
    }
    /// Returns whether this is only a receive. A send cannot be withdrawn over every medium, and
    /// the receiver may have noticed it.
    bool can_be_withdrawn() const { return receiving && !sending; }
    /// Withdraws an unmatched receive and returns true; returns false if that is not possible.
    bool withdraw() { return can_be_withdrawn() && transport_.withdraw(receiving); }
    /// Returns true if both are done.
    bool test() {
        bool const came = !receiving || transport_.test(receiving, &received);
        bool const went = !sending || transport_.test(sending);
        return came && went;
    }
    Received result(PointToPoint const& message) const {
        if (!message.in) return {};
        return {received.source, message.tag, received.bytes / message.in->type.size()};
    }

    Transport::Ticket sending, receiving;
    Transport::Received received;

private:
    Transport& transport_;
};

void CommunicatorState::check_message(PointToPoint const& message) const {
    auto const refuse = [&](auto const&... words) {
        throw UsageError(text(detector_.self_text(), ": ", message.text(), ": ", words...));
    };
    int const size = transport_->size();
    if (message.out && (message.to < 0 || message.to >= size))
        refuse("rank ", message.to, " is out of range (0 to ", size - 1, ")");
    if (message.in && message.from != any_source && (message.from < 0 || message.from >= size))
        refuse("rank ", message.from, " is out of range (0 to ", size - 1, ", or any_source)");
    if (message.tag < 0 || message.tag > transport_->max_tag() - first_user_tag)
        refuse("tag ", message.tag, " is out of range (0 to ",
               transport_->max_tag() - first_user_tag, ")");
    if ((message.out && message.out->type.size() == 0) ||
        (message.in && message.in->type.size() == 0))
        refuse("elements of 0 bytes cannot be sent or received");
    if (message.out && message.out->data == nullptr && message.out->count > 0)
        refuse("the buffer to send is null");
    if (message.in && message.in->data == nullptr && message.in->count > 0)
        refuse("the buffer to receive is null");
}

ProgressPolicy CommunicatorState::message_policy(PointToPoint const& message,
                                                 Operation* operation) {
    return {*transport_,
            detector_,
            *engine_,
            operation,
            deadlines_of(message.options),
            pace(),
            false,
            [&message] { return message.text(); }};
}

Received CommunicatorState::transfer(PointToPoint const& message) {
    MessageTickets tickets(*transport_);
    tickets.start(message);
    ProgressPolicy policy = message_policy(message, nullptr);
    int polls = 0;
    while (!tickets.test())
        if (++polls > policy.spins())
            policy.idle(polls - policy.spins() - 1, tickets.receiving ? message.from : message.to,
                        0, 0);
    return tickets.result(message);
}

Received CommunicatorState::run(PointToPoint const& message) {
    throw_if_lost();
    check_message(message);
    DeviceMessage on_device(*this, message);
    if (on_device) return run_on_device(on_device);
    try {
        return transfer(message);
    } catch (...) {
        remember_loss(std::current_exception());
        throw;
    }
}

void CommunicatorState::await(MessageTickets& tickets, PointToPoint const& message,
                              Operation& self) {
    ProgressPolicy policy = message_policy(message, &self);
    try {
        for (int round = 0; !tickets.test(); ++round) {
            if (self.withdrawal() == Operation::Withdrawal::asked) {
                bool const taken_back = tickets.withdraw();
                self.answer_withdrawal(taken_back);
                if (taken_back) return;
                continue;
            }
            policy.idle(round, tickets.receiving ? message.from : message.to, 0, 0);
        }
    } catch (Timeout const&) {
        // A receive without a message whose request was dropped: withdrawing it loses nothing.
        if (!self.disowned() || !tickets.withdraw()) remember_loss(std::current_exception());
        throw;
    } catch (...) {
        remember_loss(std::current_exception());
        throw;
    }
    self.received = tickets.result(message);
}

Request CommunicatorState::start(PointToPoint const& message) {
    throw_if_lost();
    check_message(message);
    engine_->check_room();
    if (auto on_device = std::make_shared<DeviceMessage>(*this, message); *on_device)
        return start_on_device(std::move(on_device));
    // Started here, not in the fiber, so that messages have the order of the calls.
    auto tickets = std::make_shared<MessageTickets>(*transport_);
    tickets->start(message);
    auto operation = std::make_shared<Operation>(
        engine_,
        [state = shared_from_this(), tickets, message](Operation& self) {
            state->await(*tickets, message, self);
        },
        tickets->can_be_withdrawn());
    engine_->submit(operation, nullptr);
    return Request(std::move(operation));
}

Received CommunicatorState::run_on_device(DeviceMessage& message) {
    try {
        if (auto const enqueued = message.enqueue()) return *enqueued;
        message.load(nullptr);
        Received const received = transfer(message.host());
        message.store(received, nullptr);
        return received;
    } catch (UsageError const&) {
        throw;
    } catch (...) {
        remember_loss(std::current_exception());
        throw;
    }
}

Request CommunicatorState::start_on_device(std::shared_ptr<DeviceMessage> message) {
    message->refuse_stream();
    auto tickets = std::make_shared<MessageTickets>(*transport_);
    try {
        message->load(nullptr);
        tickets->start(message->host());
    } catch (...) {
        remember_loss(std::current_exception());
        throw;
    }
    auto operation = std::make_shared<Operation>(
        engine_,
        [state = shared_from_this(), tickets, message](Operation& self) {
            state->await(*tickets, message->host(), self);
            if (self.withdrawal() == Operation::Withdrawal::done) return;
            try {
                message->store(self.received, &self);
            } catch (...) {
                state->remember_loss(std::current_exception());
                throw;
            }
        },
        tickets->can_be_withdrawn());
    engine_->submit(operation, nullptr);
    return Request(std::move(operation));
}

}  // namespace sinew::detail
