// SPDX-License-Identifier: Apache-2.0
#include "src/sgd/state/part_id.hpp"

#include <charconv>

#include "src/base/text.hpp"

namespace sinew::sgd {

namespace {

/// Reads a name from the left.
class Scan {
public:
    explicit Scan(std::string_view rest) : rest_(rest) {}

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

std::string PartId::text() const {
    std::string nonce(16, '0');
    for (int digit = 0; digit < 16; ++digit)
        nonce[static_cast<std::size_t>(digit)] =
            "0123456789abcdef"[commit.nonce >> (60 - 4 * digit) & 15];
    return sinew::text(commit.number, '-', nonce, "-step-", commit.step, "-of-", commit.ranks, '-',
                       owner == shared ? "shared" : sinew::text("rank-", owner));
}

std::optional<PartId> PartId::parse(std::string_view name) {
    PartId part;
    Scan scan(name);
    scan.number(part.commit.number);
    scan.require("-");
    scan.number(part.commit.nonce, 16);
    scan.require("-step-");
    scan.number(part.commit.step);
    scan.require("-of-");
    scan.number(part.commit.ranks);
    scan.require("-");
    if (!scan.word("shared")) {
        scan.require("rank-");
        scan.number(part.owner);
        if (part.owner >= part.commit.ranks) return std::nullopt;
    }
    // Another spelling of the same numbers is not ours.
    if (!scan.good() || part.commit.ranks < 1 || part.text() != name) return std::nullopt;
    return part;
}

}  // namespace sinew::sgd
