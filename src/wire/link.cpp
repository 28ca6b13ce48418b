// SPDX-License-Identifier: Apache-2.0
#include "src/wire/link.hpp"

#include <algorithm>
#include <iomanip>
#include <sinew/error.hpp>
#include <utility>
#include <vector>

#include "src/base/text.hpp"
#include "src/base/waiting/tcp_answers.hpp"
#include "src/wire/heartbeat.hpp"
#include "src/wire/link_handshake.hpp"
#include "src/wire/socket/sockets.hpp"

namespace sinew::wire {
namespace {

// Bytes; frames of this size and above are written without a copy if possible.
constexpr std::size_t long_frame = std::size_t{32} << 10;
// Period of the check for a dead host on links without heartbeats.
constexpr std::chrono::seconds look_for_answers{1};

/// The implementation of a link; shared, since the user may destroy the link within a callback.
class LinkState final : public ChannelUser, public std::enable_shared_from_this<LinkState> {
public:
    LinkState(Loop& loop, HandshakeResult shaken, LinkOptions const& options);

    void on(Link::Callbacks callbacks);
    /// When a message is given to the kernel.
    enum class When : std::uint8_t { turn_end, now };
    Flow send(std::uint8_t kind, std::uint16_t stream,
              std::initializer_list<std::span<std::byte const>> parts, When when);
    void flush();
    void pause() {
        if (!ended_ && !closing_) channel_->pause();
    }
    void resume() {
        if (!ended_ && callbacks_) channel_->resume();
    }
    void close(Clock::duration patience);
    void abandon();
    Identity const& peer() const { return peer_; }
    std::size_t queued() const { return ended_ ? 0 : channel_->queued(); }
    std::string const& local() const { return local_; }
    std::string const& remote() const { return remote_; }

    std::shared_ptr<void> keep() override { return shared_from_this(); }
    void frame(Frame const& frame) override;
    void stopped(Stop why, std::string const& text) override;
    void sent() override;

private:
    class Delivering;
    void tick();
    /// Ends the link and returns true if the other host has not answered for `host_gone_after`.
    bool host_is_gone();
    void end(LinkEnd::Cause cause, std::string const& text);

    Loop& loop_;
    std::shared_ptr<Channel> channel_;
    Identity const peer_;
    std::uint64_t const peer_limit_;
    LinkOptions const options_;
    std::string const local_, remote_;
    Heartbeat heartbeat_;
    TcpAnswers answers_;
    std::shared_ptr<Link::Callbacks const> callbacks_;
    std::vector<std::shared_ptr<Link::Callbacks const>>
        former_;  ///< replaced; one of them is running
    int delivering_ = 0;
    Loop::Handle ticker_, patience_;
    bool full_ = false;      ///< `send` returned full
    bool closing_ = false;   ///< this end has called `close`
    bool farewell_ = false;  ///< this end's farewell was sent
    bool ended_ = false;
};

/// Exists while a message callback runs, which must not be destroyed meanwhile. A shared_ptr
/// instead would cost each message two atomic operations.
class LinkState::Delivering {
public:
    explicit Delivering(LinkState& state) : state_(state) { ++state_.delivering_; }
    ~Delivering() {
        if (--state_.delivering_ == 0 && !state_.former_.empty()) state_.former_.clear();
    }
    Delivering(Delivering const&) = delete;
    Delivering& operator=(Delivering const&) = delete;

private:
    LinkState& state_;
};

LinkState::LinkState(Loop& loop, HandshakeResult shaken, LinkOptions const& options)
    : loop_(loop), channel_(std::move(shaken.channel)), peer_(std::move(shaken.peer)),
      peer_limit_(shaken.peer_limit), options_(options), local_(local_host(channel_->fd())),
      remote_(peer_host(channel_->fd())), heartbeat_(options, Clock::now()) {
    channel_->use(this);
    if (heartbeat_.tick() > Clock::duration::zero())
        ticker_ = loop_.every(heartbeat_.tick(), [this] { tick(); });
    else if (TcpAnswers::sample(channel_->fd()))
        ticker_ = loop_.every(look_for_answers, [this] { host_is_gone(); });
}

void LinkState::on(Link::Callbacks callbacks) {
    // The former callbacks may be running. Callers hold them by a shared_ptr, except message
    // delivery.
    if (delivering_ > 0) former_.push_back(callbacks_);
    callbacks_ = std::make_shared<Link::Callbacks const>(std::move(callbacks));
    if (!ended_) channel_->resume();
}

Flow LinkState::send(std::uint8_t kind, std::uint16_t stream,
                     std::initializer_list<std::span<std::byte const>> parts, When when) {
    if (kind >= frame_kind::first_reserved)
        throw UsageError(text("a message of kind ", +kind, " to ", peer_.name, " (must be below ",
                              +frame_kind::first_reserved, "). The others are the link's own"));
    std::size_t size = 0;
    for (auto const part : parts) size += part.size();
    if (size > peer_limit_ || size > UINT32_MAX)
        throw UsageError(text("a message of ", size, " bytes to ", peer_.name, " (its limit is ",
                              peer_limit_, "). Send it in several"));
    if (ended_ || closing_) return Flow::go;
    FrameHeader const header{static_cast<std::uint32_t>(size), kind, 0, stream};
    size >= long_frame ? channel_->write_through(header, parts) : channel_->append(header, parts);
    when == When::now ? flush() : channel_->defer_writing();
    if (channel_->queued() <= options_.high_water) return Flow::go;
    full_ = true;
    return Flow::full;
}

void LinkState::flush() {
    if (ended_) return;
    channel_->flush();
    if (full_ || closing_) channel_->defer();  // `sent` may call `drained`
}

void LinkState::close(Clock::duration patience) {
    if (ended_ || std::exchange(closing_, true)) return;
    channel_->send({0, frame_kind::farewell, 0, 0}, {});
    channel_->resume();  // for the other end's farewell, if `on` was never called
    patience_ = loop_.after(patience, [this] {
        end(LinkEnd::Cause::closed, "closed by this end, which waited long enough");
    });
}

void LinkState::abandon() {
    ended_ = true;
    ticker_ = {};
    patience_ = {};
    channel_->close();
}

void LinkState::frame(Frame const& frame) {
    auto const kind = frame.header.kind;
    if (kind < frame_kind::first_reserved) {
        if (closing_ || !callbacks_ || !callbacks_->message) return;
        Delivering const delivering(*this);
        callbacks_->message({kind, frame.header.stream, frame.payload});
    } else if (kind == frame_kind::farewell) {
        end(LinkEnd::Cause::closed, closing_ ? "closed by both ends" : "closed by the other end");
    } else if (kind != frame_kind::heartbeat) {
        end(LinkEnd::Cause::violation, text("sent a frame of kind ", +kind, " out of turn"));
    }
}

void LinkState::stopped(Stop why, std::string const& text) {
    auto const self = shared_from_this();
    // The other end closes without a farewell of its own when it has seen ours.
    if (closing_ && farewell_ && why != Stop::violation)
        return end(LinkEnd::Cause::closed, "closed by this end");
    switch (why) {
        case Stop::end:
            return end(LinkEnd::Cause::lost, "connection lost (end of file)");
        case Stop::lost:
            return end(LinkEnd::Cause::lost, "connection lost (" + text + ")");
        case Stop::denied:
            return end(LinkEnd::Cause::violation, "broken TLS (" + text + ")");
        case Stop::violation:
            return end(LinkEnd::Cause::violation, "sent " + text);
    }
}

void LinkState::sent() {
    if (ended_) return;
    auto const self = shared_from_this();
    if (closing_ && channel_->queued() == 0 && !std::exchange(farewell_, true))
        channel_->shut_down_writing();
    if (!full_ || channel_->queued() >= std::max<std::size_t>(options_.low_water, 1)) return;
    full_ = false;
    auto const callbacks = callbacks_;
    if (callbacks && callbacks->drained && !closing_) callbacks->drained();
}

bool LinkState::host_is_gone() {
    auto const sample = TcpAnswers::sample(channel_->fd());
    if (!sample) return false;
    auto const silence = answers_.silence(Clock::now(), *sample);
    if (silence < host_gone_after) return false;
    end(LinkEnd::Cause::lost,
        text("connection lost (its host has not answered for ", std::fixed, std::setprecision(1),
             std::chrono::duration<double>(silence).count(), " s)"));
    return true;
}

void LinkState::tick() {
    auto const self = shared_from_this();
    if (host_is_gone()) return;
    auto const now = Clock::now();
    // Unread bytes are a sign of life, too. Before `on`, nothing is read.
    bool const heard = channel_->heard() || channel_->input_waiting() || !callbacks_;
    auto const verdict = heartbeat_.judge(now, heard, loop_.lag());
    if (verdict == Heartbeat::Verdict::dead) {
        auto const silence = std::chrono::duration<double>(heartbeat_.silence(now)).count();
        return end(LinkEnd::Cause::silent,
                   text("no sign of life for ", std::fixed, std::setprecision(1), silence, " s"));
    }
    // Queued messages make a heartbeat unnecessary.
    if (heartbeat_.due(now, channel_->spoke()) && channel_->queued() == 0 && !closing_)
        channel_->send({0, frame_kind::heartbeat, 0, 0}, {});
    if (verdict == Heartbeat::Verdict::nothing_new) return;
    auto const callbacks = callbacks_;
    if (callbacks && callbacks->liveness)
        callbacks->liveness(verdict == Heartbeat::Verdict::suspect ? Liveness::suspect
                                                                   : Liveness::alive);
}

void LinkState::end(LinkEnd::Cause cause, std::string const& text) {
    if (ended_) return;
    auto const self = shared_from_this();
    abandon();
    auto const callbacks = callbacks_;
    if (callbacks && callbacks->end) callbacks->end({cause, peer_, peer_.name + ": " + text});
}

/// The user's handle of a LinkState; its destructor closes the connection.
class OwnedLink final : public Link {
public:
    explicit OwnedLink(std::shared_ptr<LinkState> state) : state_(std::move(state)) {}
    ~OwnedLink() override { state_->abandon(); }
    void on(Callbacks callbacks) override { state_->on(std::move(callbacks)); }
    Flow send(std::uint8_t kind, std::uint16_t stream,
              std::initializer_list<std::span<std::byte const>> parts) override {
        return state_->send(kind, stream, parts, LinkState::When::turn_end);
    }
    Flow send_now(std::uint8_t kind, std::uint16_t stream,
                  std::initializer_list<std::span<std::byte const>> parts) override {
        return state_->send(kind, stream, parts, LinkState::When::now);
    }
    void flush() override { state_->flush(); }
    void pause() override { state_->pause(); }
    void resume() override { state_->resume(); }
    void close(Clock::duration patience) override { state_->close(patience); }
    Identity const& peer() const override { return state_->peer(); }
    std::size_t queued() const override { return state_->queued(); }
    std::string local_host() const override { return state_->local(); }
    std::string peer_host() const override { return state_->remote(); }

private:
    std::shared_ptr<LinkState> state_;
};

}  // namespace

std::unique_ptr<Link> make_link(Loop& loop, HandshakeResult shaken, LinkOptions const& options) {
    return std::make_unique<OwnedLink>(
        std::make_shared<LinkState>(loop, std::move(shaken), options));
}

}  // namespace sinew::wire
