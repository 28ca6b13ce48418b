// SPDX-License-Identifier: Apache-2.0
#include "src/sgd/state/part_id.hpp"

#include <endian.h>

#include <charconv>
#include <span>
#include <string>

#include "src/base/hex.hpp"

namespace sinew::sgd {

namespace {

/// Reads a name from the left.
class NameReader {
public:
    explicit NameReader(std::string_view rest) : rest_(rest) {}

    template <class Number>
    void number(Number& value, int base = 10) {
        auto const [end, error] =
            std::from_chars(rest_.data(), rest_.data() + rest_.size(), value, base);
        good_ = good_ && error == std::errc{} && value >= 0;
        rest_.remove_prefix(static_cast<std::size_t>(end - rest_.data()));
    }
    bool word(std::string_view expected) {
        bool const here = rest_.starts_with(expected);
        if (here) rest_.remove_prefix(expected.size());
        return here;
    }
    void require(std::string_view expected) { good_ = word(expected) && good_; }
    bool good() const { return good_ && rest_.empty(); }

private:
    std::string_view rest_;
    bool good_ = true;
};

}  // namespace

// Not by a stream, which leaves out what it has no memory for.
std::string PartId::text() const {
    std::uint64_t const nonce = ::htobe64(commit.nonce);
    std::string name = std::to_string(commit.number) + '-';
    name += to_hex(std::as_bytes(std::span(&nonce, 1)));
    name += "-step-" + std::to_string(commit.step) + "-of-" + std::to_string(commit.ranks) + '-';
    return name + (owner == shared ? "shared" : "rank-" + std::to_string(owner));
}

std::optional<PartId> PartId::parse(std::string_view name) {
    PartId part;
    NameReader reader(name);
    reader.number(part.commit.number);
    reader.require("-");
    reader.number(part.commit.nonce, 16);
    reader.require("-step-");
    reader.number(part.commit.step);
    reader.require("-of-");
    reader.number(part.commit.ranks);
    reader.require("-");
    if (!reader.word("shared")) {
        reader.require("rank-");
        reader.number(part.owner);
        if (part.owner >= part.commit.ranks) return std::nullopt;
    }
    // Another spelling of the same numbers is not ours.
    if (!reader.good() || part.commit.ranks < 1 || part.text() != name) return std::nullopt;
    return part;
}

}  // namespace sinew::sgd
