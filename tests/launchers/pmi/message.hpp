// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/socket.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <vector>

namespace sinew::test {

/// A message between the test's agents and their hub, over a socket that preserves boundaries.
struct Message {
    enum class Kind : std::uint8_t {
        fence,
        modex,
        publish,
        lookup,
        unpublish,  // sent by an agent; answered by a reply
        reply,
        modex_request,
        modex_data,  // sent by the hub; answered
        connected,
        finalized,
        aborted,
        started,
        exited,
        job_done,
        start,
        kill,
        quit,
    };
    Kind kind{};
    std::uint64_t id = 0;
    std::int32_t rank = 0, status = 0;
    std::vector<int> ranks{};
    std::string text{};
    std::vector<std::byte> data{};
};

inline bool send_message(int socket, Message const& message) {
    std::vector<std::uint64_t> const head{
        static_cast<std::uint64_t>(message.kind),
        message.id,
        static_cast<std::uint64_t>(static_cast<std::int64_t>(message.rank)),
        static_cast<std::uint64_t>(static_cast<std::int64_t>(message.status)),
        message.ranks.size(),
        message.text.size()};
    std::string bytes(reinterpret_cast<char const*>(head.data()), head.size() * 8);
    bytes.append(reinterpret_cast<char const*>(message.ranks.data()),
                 message.ranks.size() * sizeof(int));
    bytes += message.text;
    bytes.append(reinterpret_cast<char const*>(message.data.data()), message.data.size());
    return ::send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL) ==
           static_cast<ssize_t>(bytes.size());
}

/// Returns nothing if the other end is closed.
inline std::optional<Message> receive_message(int socket) {
    std::vector<char> bytes(std::size_t{1} << 20);
    ssize_t const size = ::recv(socket, bytes.data(), bytes.size(), 0);
    if (size < 48) return std::nullopt;
    std::uint64_t head[6];
    std::memcpy(head, bytes.data(), sizeof head);
    char const* at = bytes.data() + sizeof head;
    Message message;
    message.kind = static_cast<Message::Kind>(head[0]);
    message.id = head[1];
    message.rank = static_cast<std::int32_t>(head[2]);
    message.status = static_cast<std::int32_t>(head[3]);
    message.ranks.resize(head[4]);
    if (head[4] != 0) std::memcpy(message.ranks.data(), at, head[4] * sizeof(int));
    at += head[4] * sizeof(int);
    message.text.assign(at, head[5]);
    at += head[5];
    auto const* rest = reinterpret_cast<std::byte const*>(at);
    message.data.assign(rest, reinterpret_cast<std::byte const*>(bytes.data()) + size);
    return message;
}

}  // namespace sinew::test
