// SPDX-License-Identifier: Apache-2.0
#include "src/process/rpc/process_address.hpp"

#include <sinew/task/encoding.hpp>

namespace sinew::process {

void ProcessAddress::encode_to(Writer& writer) const {
    encode(writer, origin);
    encode(writer, name);
    encode(writer, host);
    encode(writer, addresses);
}

ProcessAddress ProcessAddress::decode_from(Reader& reader) {
    ProcessAddress address;
    address.origin = decode<std::uint64_t>(reader);
    address.name = decode<std::string>(reader);
    address.host = decode<std::string>(reader);
    address.addresses = decode<std::vector<std::string>>(reader);
    return address;
}

}  // namespace sinew::process
