// SPDX-License-Identifier: Apache-2.0
// Matching of messages and receives. Requires: the engine's lock held.
#include <algorithm>
#include <cstring>

#include "src/transport/socket_engine.hpp"

namespace sinew::detail {

namespace {

/// Longest message of a rank to itself that is copied.
constexpr std::size_t own_copy_bytes = 4096;

void copy_bytes(std::byte* to, std::byte const* from, std::size_t bytes) {
    if (bytes > 0) std::memcpy(to, from, bytes);
}

std::unique_ptr<std::byte[]> room_for(std::size_t bytes) {
    return bytes > 0 ? std::make_unique_for_overwrite<std::byte[]>(bytes) : nullptr;
}

void assign(Receive& receive, int source, std::size_t bytes) {
    receive.source = source;
    receive.bytes = bytes;
    receive.arrived = 0;
}

}  // namespace

Sink SocketEngine::arrived(SocketStream& stream, Frame const& frame) {
    switch (frame.kind) {
        case Frame::Kind::message:
            return take_message(stream, frame);
        case Frame::Kind::data:
            return take_data(stream, frame);
        case Frame::Kind::announce:
            take_announcement(stream, frame);
            break;
        case Frame::Kind::withdraw:
            take_withdrawal(stream, frame);
            break;
        case Frame::Kind::clear:
            stream.cleared(frame.id);
            posted_.push_back(stream.peer());
            break;
        case Frame::Kind::drop:
            stream.dropped(frame.id);
            break;
        case Frame::Kind::credit:
            stream.credited(frame.bytes);
            break;
        case Frame::Kind::farewell:
            stream.note_farewell();
            break;
    }
    return {};
}

void SocketEngine::complete(SocketStream&, Sink const& sink) {
    if (sink.receive != nullptr && sink.receive->arrived == sink.receive->bytes)
        finish(*sink.receive);
}

void SocketEngine::finish(Receive& receive) { receive.done.store(true, std::memory_order_release); }

Sink SocketEngine::take_message(SocketStream& stream, Frame const& frame) {
    Sink sink{nullptr, frame.bytes, nullptr, nullptr};
    Group const group = groups_.for_message(frame.group);
    Receive* const receive = group ? group->take_receive(stream.peer(), frame.tag) : nullptr;
    if (!group || receive != nullptr) consume(stream, window_cost(frame.bytes));
    if (!group) return sink;
    if (receive != nullptr) {
        assign(*receive, stream.peer(), frame.bytes);
        receive->arrived = frame.bytes;
        sink.receive = receive;
        if (receive->fits()) sink.to = receive->to;
        return sink;
    }
    group->messages.push_back({UnexpectedMessage::Kind::copied, stream.peer(), frame.tag,
                               frame.bytes, room_for(frame.bytes), 0, nullptr});
    sink.message = &group->messages.back();
    sink.to = sink.message->copy.get();
    return sink;
}

void SocketEngine::take_announcement(SocketStream& stream, Frame const& frame) {
    Group const group = groups_.for_message(frame.group);
    if (!group) return post(stream, Frame::Kind::drop, frame.id);
    if (Receive* const receive = group->take_receive(stream.peer(), frame.tag)) {
        assign(*receive, stream.peer(), frame.bytes);
        return clear(stream, frame.id, *receive);
    }
    group->messages.push_back({UnexpectedMessage::Kind::announced, stream.peer(), frame.tag,
                               frame.bytes, nullptr, frame.id, nullptr});
}

/// Requests an announced message. If it is too long for its receive, both sides are done at once.
void SocketEngine::clear(SocketStream& stream, std::uint64_t id, Receive& receive) {
    if (!receive.fits()) {
        post(stream, Frame::Kind::drop, id);
        return finish(receive);
    }
    stream.incoming.emplace(id, &receive);
    post(stream, Frame::Kind::clear, id);
}

Sink SocketEngine::take_data(SocketStream& stream, Frame const& frame) {
    auto const found = stream.incoming.find(frame.id);
    if (found == stream.incoming.end()) return {nullptr, frame.bytes, nullptr, nullptr};
    Receive& receive = *found->second;
    std::size_t const left = receive.bytes - receive.arrived;
    Sink const sink{receive.to + receive.arrived, frame.bytes, &receive, nullptr};
    // More data than announced: the peer is faulty. Discard it; the receive is never done.
    if (frame.bytes > left) return {nullptr, frame.bytes, nullptr, nullptr};
    receive.arrived += frame.bytes;
    if (receive.arrived == receive.bytes) stream.incoming.erase(found);
    return sink;
}

void SocketEngine::take_withdrawal(SocketStream& stream, Frame const& frame) {
    if (auto const found = stream.incoming.find(frame.id); found != stream.incoming.end()) {
        Receive& receive = *found->second;
        stream.incoming.erase(found);
        assign(receive, any_source, 0);
        return match(*receive.group, receive);
    }
    Group const group = groups_.for_message(frame.group);
    if (!group) return;
    group->messages.remove_if([&](UnexpectedMessage const& message) {
        return message.kind == UnexpectedMessage::Kind::announced &&
               message.source == stream.peer() && message.id == frame.id;
    });
}

/// Matches a receive with the oldest message for it; posts it if there is none.
void SocketEngine::match(SocketGroup& group, Receive& receive) {
    auto const found = group.find_message(receive.from, receive.tag);
    if (found == group.messages.end()) return group.post(receive);
    assign(receive, found->source, found->bytes);
    bool const done = claim(*found, receive);
    group.messages.erase(found);
    if (done) finish(receive);
}

/// Moves a message to its receive. Returns true if the receive is done.
bool SocketEngine::claim(UnexpectedMessage& message, Receive& receive) {
    switch (message.kind) {
        case UnexpectedMessage::Kind::announced:
            clear(stream(message.source), message.id, receive);
            break;
        case UnexpectedMessage::Kind::local:
            if (receive.fits()) copy_bytes(receive.to, message.sender->from, message.bytes);
            message.sender->done.store(true, std::memory_order_release);
            return true;
        case UnexpectedMessage::Kind::copied:
            return claim_copy(message, receive);
    }
    return false;
}

bool SocketEngine::claim_copy(UnexpectedMessage& message, Receive& receive) {
    receive.arrived = message.bytes;  // as complete() expects at the end of the payload
    std::size_t here = message.bytes;
    if (message.source != me_) {
        SocketStream& from = stream(message.source);
        consume(from, window_cost(message.bytes));
        if (Sink& sink = from.sink(); sink.message == &message) {
            // The rest is still arriving: read it directly into the receive's buffer.
            here -= sink.left;
            sink = {receive.fits() ? receive.to + here : nullptr, sink.left, &receive, nullptr};
        }
    }
    if (receive.fits()) copy_bytes(receive.to, message.copy.get(), here);
    return here == message.bytes;
}

/// Counts consumed bytes and credits the sender after each quarter of its window.
void SocketEngine::consume(SocketStream& stream, std::size_t bytes) {
    stream.consumed += bytes;
    if (stream.consumed < window_bytes / 4) return;
    post(stream, Frame::Kind::credit, 0, stream.consumed);
    stream.consumed = 0;
}

void SocketEngine::answer_unwanted(UnexpectedMessage& message) {
    if (message.kind == UnexpectedMessage::Kind::local) {
        message.sender->done.store(true, std::memory_order_release);
    } else if (message.source != me_) {
        SocketStream& from = stream(message.source);
        if (message.kind == UnexpectedMessage::Kind::announced)
            return post(from, Frame::Kind::drop, message.id);
        if (from.sink().message == &message) from.sink() = {nullptr, from.sink().left};
        consume(from, window_cost(message.bytes));
    }
}

bool SocketEngine::send_to_self(SocketGroup& group, Send& send) {
    std::size_t const bytes = send.frame.bytes;
    if (Receive* const receive = group.take_receive(me_, send.frame.tag)) {
        assign(*receive, me_, bytes);
        if (receive->fits()) copy_bytes(receive->to, send.from, bytes);
        finish(*receive);
        return true;
    }
    bool const keep = bytes <= own_copy_bytes;
    UnexpectedMessage message{
        keep ? UnexpectedMessage::Kind::copied : UnexpectedMessage::Kind::local,
        me_,
        send.frame.tag,
        bytes,
        nullptr,
        0,
        &send};
    if (keep) {
        message.copy = room_for(bytes);
        copy_bytes(message.copy.get(), send.from, bytes);
    }
    group.messages.push_back(std::move(message));
    return keep;
}

void SocketEngine::cancel_receive(Receive& receive) {
    std::erase(receive.group->posted, &receive);
    if (receive.source == any_source || receive.source == me_) return;
    // It was matched with a message: discard what still arrives of that.
    SocketStream& from = stream(receive.source);
    from.forget(receive);
    std::erase_if(from.incoming, [&](auto const& entry) { return entry.second == &receive; });
    if (Sink& sink = from.sink(); sink.receive == &receive) sink = {nullptr, sink.left};
}

void SocketEngine::cancel_send(Send& send) {
    if (send.peer != me_) {
        stream(send.peer).cancel(send);
        posted_.push_back(send.peer);
        return;
    }
    groups_.each([&](SocketGroup& group) {
        group.messages.remove_if([&](UnexpectedMessage const& message) {
            return message.kind == UnexpectedMessage::Kind::local && message.sender == &send;
        });
    });
}

}  // namespace sinew::detail
