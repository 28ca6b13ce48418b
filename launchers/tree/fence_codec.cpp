// SPDX-License-Identifier: Apache-2.0
//
//   up    1, key, nodes, parts, error          down    2, key, parts, error, lost
//   key   epoch, kind, group, sequence, number of nodes, each as distance
//   set   number of ranges, each as distance of its first from the last before, and of its last
//   parts number of parts, each as distance of its node, length, bytes
//   error length, bytes
#include "launchers/tree/fence_codec.hpp"

#include <algorithm>
#include <limits>

namespace sinew::launch {

namespace {

enum class Tag : std::uint8_t { up = 1, down = 2 };

class Writer {
public:
    void number(std::uint64_t value) {
        for (; value >= 0x80; value >>= 7) out_.push_back(std::byte(value | 0x80));
        out_.push_back(std::byte(value));
    }
    /// Writes the distance from `before`, which wraps around, so that any order can be encoded.
    void node(std::int32_t node, std::int32_t& before) {
        number(static_cast<std::uint32_t>(node) - static_cast<std::uint32_t>(before));
        before = node;
    }
    void bytes(std::span<std::byte const> some) {
        number(some.size());
        out_.insert(out_.end(), some.begin(), some.end());
    }
    void words(std::string const& text) { bytes(std::as_bytes(std::span(text))); }
    void key(FenceKey const& key) {
        number(key.epoch);
        number(static_cast<std::uint8_t>(key.kind));
        number(key.group);
        number(key.sequence);
        number(key.nodes.size());
        std::int32_t before = 0;
        for (auto const each : key.nodes) node(each, before);
    }
    void set(NodeSet const& nodes) {
        number(nodes.ranges().size());
        std::int32_t before = 0;
        for (auto const& range : nodes.ranges()) {
            node(range.first, before);
            node(range.last, before);
        }
    }
    template <class Parts>
    void parts(Parts const& parts) {
        std::size_t size = out_.size();
        for (auto const& part : parts) size += part.bytes.size() + 4;
        out_.reserve(size + 64);
        number(parts.size());
        std::int32_t before = 0;
        for (auto const& part : parts) {
            node(part.node, before);
            bytes(part.bytes);
        }
    }
    Bytes take() { return std::move(out_); }

private:
    Bytes out_;
};

/// Decodes a message. After the first invalid field all reads return nothing, and `ended` is false.
class FenceReader {
public:
    explicit FenceReader(std::span<std::byte const> bytes) : rest_(bytes) {}

    std::uint64_t number(std::uint64_t most = std::numeric_limits<std::uint64_t>::max()) {
        std::uint64_t value = 0;
        for (int shift = 0; shift < 64 && !rest_.empty(); shift += 7) {
            auto const byte = std::to_integer<std::uint64_t>(rest_.front());
            rest_ = rest_.subspan(1);
            value |= (byte & 0x7f) << shift;
            if (shift == 63 && byte > 1) break;
            if (byte < 0x80) return value <= most ? value : spoil();
        }
        return spoil();
    }
    std::int32_t node(std::int32_t& before) {
        auto const distance = number(std::numeric_limits<std::uint32_t>::max());
        before = static_cast<std::int32_t>(static_cast<std::uint32_t>(before) +
                                           static_cast<std::uint32_t>(distance));
        return before;
    }
    std::span<std::byte const> bytes() {
        auto size = number();
        if (size > rest_.size()) size = spoil();
        auto const some = rest_.first(size);
        rest_ = rest_.subspan(size);
        return some;
    }
    std::string words() {
        auto const some = bytes();
        return {reinterpret_cast<char const*>(some.data()), some.size()};
    }
    FenceKey key() {
        FenceKey key;
        key.epoch = static_cast<std::uint32_t>(number(std::numeric_limits<std::uint32_t>::max()));
        key.kind = static_cast<FenceKey::Kind>(
            number(static_cast<std::uint8_t>(FenceKey::Kind::addresses)));
        key.group = number();
        key.sequence = number();
        std::int32_t before = 0;
        for (auto left = number(rest_.size()); left > 0 && good_; --left)
            key.nodes.push_back(node(before));
        return key;
    }
    NodeSet set() {
        NodeSet nodes;
        std::int32_t before = 0;
        for (auto left = number(rest_.size()); left > 0 && good_; --left) {
            auto const first = node(before);
            if (!nodes.append({first, node(before)})) spoil();
        }
        return nodes;
    }
    std::vector<FencePart> parts() {
        std::vector<FencePart> parts;
        std::int32_t before = 0;
        for (auto left = number(rest_.size()); left > 0 && good_; --left) {
            auto const from = node(before);
            auto const some = bytes();
            parts.push_back({from, Bytes(some.begin(), some.end())});
        }
        return parts;
    }
    bool ended() const { return good_ && rest_.empty(); }

private:
    std::uint64_t spoil() {
        good_ = false;
        rest_ = {};
        return 0;
    }

    std::span<std::byte const> rest_;
    bool good_ = true;
};

}  // namespace

Bytes encode_up(FenceNode::Up const& up) {
    Writer out;
    out.number(static_cast<std::uint8_t>(Tag::up));
    out.key(up.key);
    out.set(up.nodes);
    out.parts(up.parts);
    out.words(up.error);
    return out.take();
}

Bytes encode_down(FenceNode::Down const& down) {
    Writer out;
    out.number(static_cast<std::uint8_t>(Tag::down));
    out.key(down.key);
    out.parts(down.parts);
    out.words(down.error);
    out.set(down.lost);
    return out.take();
}

std::optional<FenceNode::Up> decode_up(std::span<std::byte const> bytes) {
    FenceReader in(bytes);
    if (in.number() != static_cast<std::uint8_t>(Tag::up)) return std::nullopt;
    FenceNode::Up up;
    up.key = in.key();
    up.nodes = in.set();
    up.parts = in.parts();
    up.error = in.words();
    if (!in.ended()) return std::nullopt;
    return up;
}

std::optional<FenceNode::Down> decode_down(std::span<std::byte const> bytes) {
    FenceReader in(bytes);
    if (in.number() != static_cast<std::uint8_t>(Tag::down)) return std::nullopt;
    FenceNode::Down down;
    down.key = in.key();
    down.parts = in.parts();
    down.error = in.words();
    down.lost = in.set();
    if (!in.ended()) return std::nullopt;
    return down;
}

}  // namespace sinew::launch
