// SPDX-License-Identifier: Apache-2.0
#include "src/wire/hello.hpp"

#include <algorithm>
#include <utility>

#include "src/wire/frame.hpp"

namespace sinew::wire {
namespace {

constexpr std::string_view magic = "sinw";
constexpr std::size_t longest_name = 1024;

std::string_view as_text(std::span<std::byte const> bytes) {
    return {reinterpret_cast<char const*>(bytes.data()), bytes.size()};
}

}  // namespace

std::string printable(std::string_view text) {
    std::string clean(text.substr(0, longest_name));
    std::replace_if(
        clean.begin(), clean.end(), [](unsigned char c) { return c < 0x20 || c == 0x7f; }, '?');
    return clean;
}

Hello::Mark Hello::mark_of(Secret const& secret) {
    Mark mark;
    std::ranges::copy(secret.derive("sinew wire job 1").bytes(), mark.begin());
    return mark;
}

std::string Hello::encode() const {
    ByteWriter out;
    auto const name = std::string_view(self.name).substr(0, longest_name);
    out.raw(magic);
    out.number(version);
    out.number(static_cast<std::uint16_t>(name.size()));
    out.number(self.node);
    out.number(self.slot);
    out.number(self.epoch);
    out.number(self.origin);
    out.number(max_frame);
    out.raw(as_text(mark));
    out.raw(name);
    return std::string(as_text(out.bytes()));
}

std::optional<Hello> Hello::decode(std::span<std::byte const> payload) {
    ByteReader in(payload);
    if (as_text(in.raw(magic.size())) != magic) return std::nullopt;
    auto const version = in.number<std::uint16_t>();
    auto const name_size = in.number<std::uint16_t>();
    Identity self;
    self.node = in.number<std::uint32_t>();
    self.slot = in.number<std::uint32_t>();
    self.epoch = in.number<std::uint32_t>();
    self.origin = in.number<std::uint64_t>();
    auto const max_frame = in.number<std::uint64_t>();
    auto const mark = in.raw(std::tuple_size_v<Mark>);
    self.name = printable(as_text(in.raw(name_size)));
    // Another version may use a different layout for the rest.
    if (version != protocol_version && payload.size() >= magic.size() + 2)
        return Hello{version, {}, {}, 0};
    if (!in || name_size > longest_name) return std::nullopt;
    Hello hello{version, {}, std::move(self), max_frame};
    std::ranges::copy(mark, hello.mark.begin());
    return hello;
}

}  // namespace sinew::wire
