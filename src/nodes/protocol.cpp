// SPDX-License-Identifier: Apache-2.0
#include "src/nodes/protocol.hpp"

#include <sinew/task/encoding.hpp>
#include <utility>

namespace sinew::nodes {
namespace {

std::vector<std::byte> content_of(Writer const& writer) {
    auto const bytes = writer.bytes();
    return {bytes.begin(), bytes.end()};
}

}  // namespace

std::vector<std::byte> encode_start(process::ChildSpec const& spec) {
    Writer writer;
    encode(writer, spec.role);
    encode(writer, spec.name);
    encode(writer, spec.env);
    encode(writer, spec.folder);
    encode(writer, spec.out);
    encode(writer, std::int64_t{spec.meta.cpu});
    encode(writer, static_cast<std::uint64_t>(spec.meta.memory_mib));
    encode(writer, std::int64_t{spec.meta.gpu});
    encode(writer, spec.watched);
    writer.write(spec.message.data(), spec.message.size());
    return content_of(writer);
}

process::ChildSpec decode_start(std::span<std::byte const> bytes) {
    Reader reader(bytes);
    process::ChildSpec spec;
    spec.role = decode<std::string>(reader);
    spec.name = decode<std::string>(reader);
    spec.env = decode<std::vector<std::string>>(reader);
    spec.folder = decode<std::string>(reader);
    spec.out = decode<std::string>(reader);
    spec.meta.cpu = static_cast<int>(decode<std::int64_t>(reader));
    spec.meta.memory_mib = decode<std::uint64_t>(reader);
    spec.meta.gpu = static_cast<int>(decode<std::int64_t>(reader));
    spec.watched = decode<bool>(reader);
    auto const message = reader.take(reader.left());
    spec.message.assign(message.begin(), message.end());
    return spec;
}

std::vector<std::byte> encode_ending(Ending const& ending) {
    auto const& end = ending.end;
    Writer writer;
    encode(writer, std::int64_t{end.code});
    encode(writer, std::int64_t{end.signal});
    encode(writer, end.out_of_memory);
    encode(writer, end.log);
    encode(writer, end.why);
    encode(writer, end.fate);
    encode(writer, ending.running);
    encode(writer, ending.verdict);
    return content_of(writer);
}

Ending decode_ending(std::span<std::byte const> bytes) {
    Reader reader(bytes);
    Ending ending;
    auto& end = ending.end;
    end.code = static_cast<int>(decode<std::int64_t>(reader));
    end.signal = static_cast<int>(decode<std::int64_t>(reader));
    end.out_of_memory = decode<bool>(reader);
    end.log = decode<std::string>(reader);
    end.why = decode<std::string>(reader);
    end.fate = decode<std::string>(reader);
    ending.running = decode<std::uint64_t>(reader);
    ending.verdict = decode<std::uint64_t>(reader);
    return ending;
}

wire::LinkOptions link_options() {
    constexpr std::size_t high_water = std::size_t{256} << 10;
    return {.max_frame = (std::size_t{1} << 30) + (std::size_t{2} << 20),
            .high_water = high_water,
            .low_water = high_water / 2};
}

void close_in_order(std::unique_ptr<wire::Link> link) {
    auto const held = std::make_shared<std::unique_ptr<wire::Link>>(std::move(link));
    (*held)->on({.message = [](auto const&) {}, .end = [held](auto const&) { held->reset(); }});
    (*held)->flush();
    (*held)->close();
}

}  // namespace sinew::nodes
