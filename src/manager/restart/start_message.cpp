// SPDX-License-Identifier: Apache-2.0
#include "src/manager/restart/start_message.hpp"

#include <sinew/task/encoding.hpp>

namespace sinew::manager {

std::vector<std::byte> StartMessage::encode() const {
    Writer writer;
    sinew::encode(writer, initializer);
    sinew::encode(writer, arguments);
    sinew::encode(writer, listen);
    sinew::encode(writer, key);
    sinew::encode(writer, guest_memory);
    sinew::encode(writer, incarnation.has_value());
    if (incarnation) {
        incarnation->encode_to(writer);
        sinew::encode(writer, incarnation->key);
    }
    auto const bytes = writer.bytes();
    return {bytes.begin(), bytes.end()};
}

StartMessage StartMessage::decode(std::span<std::byte const> bytes) {
    Reader reader(bytes);
    StartMessage order;
    order.initializer = sinew::decode<std::uint64_t>(reader);
    order.arguments = sinew::decode<std::string>(reader);
    order.listen = sinew::decode<std::string>(reader);
    order.key = sinew::decode<std::string>(reader);
    order.guest_memory = sinew::decode<std::uint64_t>(reader);
    if (sinew::decode<bool>(reader)) {
        order.incarnation = Incarnation::decode_from(reader);
        order.incarnation->key = sinew::decode<std::uint64_t>(reader);
    }
    return order;
}

void Ready::encode_to(Writer& writer) const {
    address.encode_to(writer);
    encode(writer, guests);
}

Ready Ready::decode_from(Reader& reader) {
    Ready ready;
    ready.address = process::ProcessAddress::decode_from(reader);
    ready.guests = decode<std::string>(reader);
    return ready;
}

}  // namespace sinew::manager
