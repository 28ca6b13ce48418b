// SPDX-License-Identifier: Apache-2.0
#include "src/process/pipe/handle.hpp"

#include <sinew/task/encoding.hpp>

namespace sinew::process {

void PipeHandle::encode_to(Writer& writer) const {
    keeper.encode_to(writer);
    encode(writer, server);
    encode(writer, token);
    encode(writer, direction);
    encode(writer, begun);
}

PipeHandle PipeHandle::decode_from(Reader& reader) {
    PipeHandle handle;
    handle.keeper = ProcessAddress::decode_from(reader);
    handle.server = decode<std::string>(reader);
    handle.token = decode<PipeToken>(reader);
    handle.direction = decode<std::uint8_t>(reader);
    handle.begun = decode<std::vector<std::byte>>(reader);
    return handle;
}

}  // namespace sinew::process
