// SPDX-License-Identifier: Apache-2.0
//
// Any client can connect and send anything: frames are found or refused, a hello is read or not,
// and an acceptor ends with a link or a refusal, never with more memory than the bytes justify.
#include <sys/eventfd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "src/wire/frame.hpp"
#include "src/wire/hello.hpp"
#include "src/wire/link_handshake.hpp"

namespace {

using namespace sinew;
using namespace sinew::wire;

void expect(bool holds) {
    if (!holds) std::abort();
}

using Input = std::span<std::byte const>;

// The payloads are the same however the bytes are split, and the buffer is at most twice the input.
void find_frames(Input input, std::size_t step) {
    FrameReader reader(1 << 16);
    std::size_t out = 0, in = 0;
    while (in < input.size()) {
        auto const room = reader.room();
        expect(!room.empty() && room.size() <= (1 << 18));
        std::size_t const part = std::min({step, room.size(), input.size() - in});
        std::memcpy(room.data(), input.data() + in, part);
        reader.filled(part);
        in += part;
        while (auto const frame = reader.next()) {
            auto const at = input.subspan(out + frame_header_size);
            expect(frame->payload.size() <= at.size());
            expect(std::ranges::equal(frame->payload, at.first(frame->payload.size())));
            out += frame_header_size + frame->payload.size();
        }
        if (!reader.problem().empty()) return;
    }
    expect(out <= in);
}

void read_hello(Input input) {
    auto const hello = Hello::decode(input);
    if (!hello || hello->version != protocol_version) return;
    auto const written = hello->encode();
    auto const again = Hello::decode(std::as_bytes(std::span(written)));
    expect(again && again->mark == hello->mark && again->self.name == hello->self.name);
    expect(hello->self.name.size() <= input.size());
}

/// A stream that delivers the fuzzer's bytes in pieces, and then ends.
class Fed final : public Stream {
public:
    Fed(Input input, std::size_t step)
        : input_(input), step_(step), fd_(::eventfd(1, EFD_CLOEXEC | EFD_NONBLOCK)) {}
    Moved read(std::span<std::byte> room) override {
        if (input_.empty()) return {0, Moved::Status::end};
        std::size_t const part = std::min({room.size(), step_, input_.size()});
        std::memcpy(room.data(), input_.data(), part);
        input_ = input_.subspan(part);
        return {part, Moved::Status::ok};
    }
    bool buffered() const override { return false; }
    Moved write(std::span<iovec const> blocks) override {
        Moved moved;
        for (auto const& block : blocks) moved.bytes += block.iov_len;
        return moved;
    }
    std::size_t unsent() const override { return 0; }
    int fd() const override { return fd_.get(); }
    std::string const& problem() const override { return problem_; }

private:
    Input input_;
    std::size_t step_;
    UniqueFd fd_;
    std::string problem_;
};

std::vector<std::byte> hello_frame() {
    auto const hello = Hello{protocol_version, {}, {4, 5, 6, "fuzzer"}, 1 << 20}.encode();
    auto const header = encode({static_cast<std::uint32_t>(hello.size()), frame_kind::hello, 0, 0});
    std::vector<std::byte> bytes(header.begin(), header.end());
    auto const payload = std::as_bytes(std::span(hello));
    bytes.insert(bytes.end(), payload.begin(), payload.end());
    return bytes;
}

// From the first byte to the end of the link, as either side.
void greet(Input input, std::size_t step, Role role) {
    static Loop loop;
    Hello const own{protocol_version, {}, {1, 2, 3, "fuzzed"}, 1 << 20};
    std::unique_ptr<Link> link;
    bool over = false;
    LinkOptions options;
    options.max_frame = 1 << 16;
    auto const greeting = std::make_shared<LinkHandshake>(
        LinkHandshake::Setup{loop, role, own, options}, std::make_unique<Fed>(input, step),
        [&](LinkHandshake::Outcome outcome) {
            if (auto* const greeted = std::get_if<HandshakeResult>(&outcome)) {
                link = make_link(loop, std::move(*greeted), options);
                link->on({[](Message const& message) { expect(message.kind < 240); },
                          [&](LinkEnd const&) {
                              expect(!std::exchange(over, true));
                              loop.stop();
                          }});
            } else {
                expect(!std::exchange(over, true));
                loop.stop();
            }
        });
    greeting->start();
    loop.run();
    expect(over);
}

}  // namespace

/// The first byte selects the test; the second is the number of bytes per read.
extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
    if (size < 2) return 0;
    Input const input = std::as_bytes(std::span(data + 2, size - 2));
    std::size_t const step = data[1] == 0 ? 4096 : data[1];
    switch (data[0] % 4) {
        case 0:
            find_frames(input, step);
            break;
        case 1:
            read_hello(input);
            break;
        default: {
            // Half of the inputs follow a valid hello, which a fuzzer would hardly find.
            auto bytes = data[0] % 8 < 4 ? std::vector<std::byte>() : hello_frame();
            bytes.insert(bytes.end(), input.begin(), input.end());
            greet(bytes, step, data[0] % 4 == 2 ? Role::acceptor : Role::dialler);
        }
    }
    return 0;
}
