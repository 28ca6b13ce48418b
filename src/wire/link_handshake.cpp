// SPDX-License-Identifier: Apache-2.0
#include "src/wire/link_handshake.hpp"

#include <openssl/crypto.h>

#include <algorithm>
#include <utility>

#include "src/base/bytes.hpp"
#include "src/base/text.hpp"

namespace sinew::wire {
namespace {

constexpr std::string_view wrong_secret = "the other end does not know this job's secret";

}  // namespace

LinkHandshake::LinkHandshake(Setup const& setup, std::unique_ptr<Stream> stream,
                             std::function<void(Outcome)> done)
    : loop_(setup.loop), role_(setup.role), own_(setup.own), options_(setup.options),
      expected_origin_(setup.expected_origin),
      channel_(std::make_shared<Channel>(setup.loop, std::move(stream), handshake_limit)),
      done_(std::move(done)) {}

LinkHandshake::~LinkHandshake() {
    if (channel_) channel_->close();
}

void LinkHandshake::start() {
    channel_->use(this);
    channel_->start();
    deadline_ = loop_.after(options_.handshake, [this] {
        auto const seconds = std::chrono::duration<double>(options_.handshake).count();
        finish(Refusal{text("no handshake within ", seconds, " s"), false});
    });
    if (role_ == Role::dialler) {
        auto const hello = own_.encode();
        channel_->send({static_cast<std::uint32_t>(hello.size()), frame_kind::hello, 0, 0},
                       {std::as_bytes(std::span(hello))});
    }
}

void LinkHandshake::frame(Frame const& frame) {
    auto const self = shared_from_this();
    if (role_ == Role::dialler && frame.header.kind == frame_kind::refusal)
        return finish(Refusal{printable(text_of(frame.payload)), true});
    auto const theirs =
        frame.header.kind == frame_kind::hello ? Hello::decode(frame.payload) : std::nullopt;
    if (!theirs) return refuse("the other end's first frame is not a hello");
    if (theirs->version != protocol_version)
        return refuse(text("the versions of the protocol differ (", theirs->version, " and ",
                           protocol_version, "). Use the same sinew on all hosts"));
    if (CRYPTO_memcmp(theirs->mark.data(), own_.mark.data(), own_.mark.size()) != 0)
        return refuse(std::string(wrong_secret));
    if (auto const why = objection(*theirs); !why.empty()) return refuse(why);
    answer(*theirs);
}

std::string LinkHandshake::objection(Hello const& theirs) const {
    auto const& self = theirs.self;
    if (theirs.max_frame < options_.least_peer_frame)
        return text(self.name, " takes frames of at most ", theirs.max_frame, " bytes (at least ",
                    options_.least_peer_frame, " are needed). Use the same sinew on both sides");
    if (self.origin != 0 && self.origin == own_.self.origin)
        return text("the other end is this process itself, ", self.name,
                    " (a process does not connect to itself; something may have passed its bytes "
                    "back). Check what forwards connections on the way");
    if (expected_origin_ != 0 && self.origin != expected_origin_)
        return text("another process answers there (", self.name, "): the intended one has ended");
    return {};
}

void LinkHandshake::answer(Hello const& theirs) {
    if (role_ == Role::acceptor) {
        auto const hello = own_.encode();
        channel_->send({static_cast<std::uint32_t>(hello.size()), frame_kind::hello, 0, 0},
                       {std::as_bytes(std::span(hello))});
    }
    // Nothing is delivered until the user of the link has set its callbacks.
    channel_->pause();
    channel_->limit(options_.max_frame);
    channel_->use(nullptr);
    HandshakeResult shaken{std::exchange(channel_, nullptr), theirs.self, theirs.max_frame};
    finish(std::move(shaken));
}

// Ends the handshake. An acceptor sends the reason, so that the dialler does not try again.
void LinkHandshake::refuse(std::string const& text) {
    if (role_ == Role::acceptor) {
        channel_->send({static_cast<std::uint32_t>(text.size()), frame_kind::refusal, 0, 0},
                       {std::as_bytes(std::span(text))});
        channel_->flush();
    }
    finish(Refusal{text, true});
}

void LinkHandshake::stopped(Stop why, std::string const& text) {
    auto const self = shared_from_this();
    switch (why) {
        // A listener closes if it ends or has too many unauthenticated connections: not final.
        case Stop::end:
            return finish(Refusal{"closed during the handshake", false});
        case Stop::lost:
            return finish(Refusal{text, false});
        case Stop::denied:
            return finish(Refusal{sinew::text(wrong_secret, " (", text, ")"), true});
        case Stop::violation:
            return finish(Refusal{"it sent " + text, true});
    }
}

void LinkHandshake::finish(Outcome outcome) {
    auto const self = shared_from_this();
    deadline_ = {};
    if (channel_) channel_->close();
    if (auto const done = std::exchange(done_, nullptr)) done(std::move(outcome));
}

}  // namespace sinew::wire
