// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <variant>

#include "src/wire/channel.hpp"
#include "src/wire/hello.hpp"
#include "src/wire/link.hpp"
#include "src/wire/tls/context.hpp"

namespace sinew::wire {

/// An authenticated channel, and what was agreed on.
struct HandshakeResult {
    std::shared_ptr<Channel> channel;
    Identity peer;
    std::uint64_t peer_limit = 0;
};

/// Why a handshake failed.
struct Refusal {
    std::string text;
    bool final = false;  ///< another attempt would fail, too
};

/// Exchanges hellos over a new channel within a time limit, and reports the outcome once. The
/// destructor closes the channel without a call.
///
/// The dialler speaks first; the acceptor answers by its hello, or by its reason for refusing.
class LinkHandshake final : public ChannelUser, public std::enable_shared_from_this<LinkHandshake> {
public:
    using Outcome = std::variant<HandshakeResult, Refusal>;
    struct Setup {
        Loop& loop;
        Role role;
        Hello own;
        LinkOptions const& options;
        std::uint64_t expected_origin = 0;  ///< see Credentials
    };

    LinkHandshake(Setup const& setup, std::unique_ptr<Stream> stream,
                  std::function<void(Outcome)> done);
    ~LinkHandshake();
    void start();
    Clock::time_point began() const { return began_; }
    /// The other end has not sent anything yet.
    bool silent() const { return !heard_ && !(heard_ = channel_->heard()); }

    std::shared_ptr<void> keep() override { return shared_from_this(); }
    void frame(Frame const& frame) override;
    void stopped(Stop why, std::string const& text) override;

private:
    void answer(Hello const& theirs);
    void refuse(std::string const& text);
    /// Why the other end is refused although it knows the secret; empty: it is not.
    std::string objection(Hello const& theirs) const;
    void finish(Outcome outcome);

    Loop& loop_;
    Role role_;
    Hello own_;
    LinkOptions options_;
    std::uint64_t expected_origin_;
    std::shared_ptr<Channel> channel_;
    std::function<void(Outcome)> done_;
    Loop::Handle deadline_;
    Clock::time_point began_ = Clock::now();
    mutable bool heard_ = false;
};

/// Makes the link of an authenticated channel.
std::unique_ptr<Link> make_link(Loop& loop, HandshakeResult shaken, LinkOptions const& options);

}  // namespace sinew::wire
