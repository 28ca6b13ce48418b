// SPDX-License-Identifier: Apache-2.0
#include "src/pool/protocol.hpp"

namespace sinew::pool {
namespace {

void write_number(Writer& writer, std::uint64_t number) { writer.write(&number, sizeof number); }

std::uint64_t read_number(Reader& reader) {
    std::uint64_t number = 0;
    reader.read(&number, sizeof number);
    return number;
}

void write_string(Writer& writer, std::string const& string) {
    write_number(writer, string.size());
    writer.write(string.data(), string.size());
}

std::string read_string(Reader& reader) {
    auto const bytes = reader.take(read_number(reader));
    return {reinterpret_cast<char const*>(bytes.data()), bytes.size()};
}

}  // namespace

void WorkerStart::encode_to(Writer& writer) const {
    write_string(writer, program);
    write_number(writer, initializer);
    write_string(writer, initializer_arguments);
    write_number(writer, max_rss_bytes);
    write_number(writer, heartbeat_ms);
    write_number(writer, lease_ms);
    write_number(writer, static_cast<std::uint64_t>(meta.cpu));
    write_number(writer, meta.memory_mib);
    write_number(writer, static_cast<std::uint64_t>(meta.gpu));
    write_number(writer, maps_files ? 1 : 0);
}

WorkerStart WorkerStart::decode_from(Reader& reader) {
    WorkerStart start;
    start.program = read_string(reader);
    start.initializer = read_number(reader);
    start.initializer_arguments = read_string(reader);
    start.max_rss_bytes = read_number(reader);
    start.heartbeat_ms = read_number(reader);
    start.lease_ms = read_number(reader);
    start.meta.cpu = static_cast<int>(read_number(reader));
    start.meta.memory_mib = read_number(reader);
    start.meta.gpu = static_cast<int>(read_number(reader));
    start.maps_files = read_number(reader) != 0;
    return start;
}

}  // namespace sinew::pool
