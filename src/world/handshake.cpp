// SPDX-License-Identifier: Apache-2.0
#include "src/world/handshake.hpp"
#include "src/base/bytes.hpp"

#include <sys/socket.h>

#include <cerrno>
#include <cstring>
#include <string>

namespace sinew {

namespace {

constexpr std::uint64_t magic = 0x31'77'65'6e'69'73'0a'00;  // "\0\nsinew1" in little-endian order

std::array<std::byte, 32> nonce() {
    std::array<std::byte, 32> bytes;
    auto const secret = wire::Secret::random();
    std::memcpy(bytes.data(), secret.bytes().data(), bytes.size());
    return bytes;
}

/// Compares in constant time.
bool same(std::array<std::byte, 32> const& a, std::array<std::byte, 32> const& b) {
    std::byte difference{0};
    for (std::size_t i = 0; i < a.size(); ++i) difference |= a[i] ^ b[i];
    return difference == std::byte{0};
}

}  // namespace

Handshake::Handshake(Self const& self, UniqueFd fd)
    : self_(self), fd_(std::move(fd)), dials_(false), awaits_(Awaits::hello) {}

Handshake::Handshake(Self const& self, UniqueFd fd, int peer)
    : self_(self), fd_(std::move(fd)), dials_(true), peer_(peer),
      awaits_(Awaits::challenge), hello_{magic,     self.rank,  static_cast<std::uint32_t>(peer),
                                         self.size, self.epoch, nonce()} {
    static_assert(sizeof(Hello) == 56, "no padding may travel");
}

bool Handshake::greet() {
    greeted_ = true;
    return send(bytes_of(hello_));
}

/// A new connection has room for these few bytes; if it does not take them, it is given up.
bool Handshake::send(std::span<std::byte const> bytes) {
    return ::send(fd_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT) ==
           static_cast<ssize_t>(bytes.size());
}

bool Handshake::verdict(bool yes) { return send(bytes_of(yes ? std::byte{1} : std::byte{0})); }

std::array<std::byte, 32> Handshake::proof(char const* role) const {
    std::string transcript = role;
    transcript.append(reinterpret_cast<char const*>(&hello_), sizeof(hello_));
    transcript.append(reinterpret_cast<char const*>(challenge_.data()), challenge_.size());
    std::array<std::byte, 32> result;
    auto const derived = self_.key.derive(transcript);
    std::memcpy(result.data(), derived.bytes().data(), result.size());
    return result;
}

std::size_t Handshake::expected() const {
    switch (awaits_) {
        case Awaits::hello:
            return sizeof(Hello);
        case Awaits::challenge:
            return 2 * sizeof(Nonce);
        case Awaits::answer:
            return sizeof(Nonce);
        case Awaits::verdict:
            break;
    }
    return 1;
}

Handshake::Result Handshake::advance() {
    for (;;) {
        auto const got = ::recv(fd_.get(), in_.data() + have_, expected() - have_, MSG_DONTWAIT);
        if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR))
            return Result::more;
        if (got <= 0) return Result::broken;
        have_ += static_cast<std::size_t>(got);
        if (have_ < expected()) continue;
        have_ = 0;
        if (auto const result = proceed(); result != Result::more) return result;
    }
}

template <class Value>
Value Handshake::received(std::size_t offset) const {
    Value value;
    std::memcpy(&value, in_.data() + offset, sizeof(Value));
    return value;
}

bool Handshake::hello_is_for_us() const {
    return hello_.magic == magic && hello_.to == self_.rank && hello_.from < self_.size &&
           hello_.from != self_.rank && hello_.size == self_.size && hello_.epoch == self_.epoch;
}

/// Handles the expected bytes, which are complete in in_.
Handshake::Result Handshake::proceed() {
    switch (awaits_) {
        case Awaits::hello: {
            hello_ = received<Hello>();
            if (!hello_is_for_us()) return Result::broken;
            greeted_ = true;
            challenge_ = nonce();
            std::array<std::array<std::byte, 32>, 2> const out{challenge_, proof("accept")};
            awaits_ = Awaits::answer;
            return send(bytes_of(out)) ? Result::more : Result::broken;
        }
        case Awaits::challenge:
            challenge_ = received<Nonce>();
            if (!same(received<Nonce>(sizeof(Nonce)), proof("accept"))) return Result::foreign;
            awaits_ = Awaits::verdict;
            return send(bytes_of(proof("dial"))) ? Result::more : Result::broken;
        case Awaits::answer:
            if (!same(received<Nonce>(), proof("dial"))) return Result::broken;
            peer_ = static_cast<int>(hello_.from);
            return Result::proven;
        case Awaits::verdict:
            break;
    }
    return in_[0] == std::byte{1} ? Result::proven : Result::yielded;
}

}  // namespace sinew
