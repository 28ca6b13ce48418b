// SPDX-License-Identifier: Apache-2.0
#include "launchers/service/client/connection.hpp"

#include <pwd.h>
#include <unistd.h>

#include <sinew/error.hpp>
#include <span>
#include <utility>

#include "launchers/common/host_name.hpp"
#include "src/base/text.hpp"
#include "src/base/waiting/spin_policy.hpp"

namespace sinew::launch::service {

std::string client_name() {
    auto const* const user = ::getpwuid(::geteuid());
    return text(user != nullptr ? std::string(user->pw_name) : text("uid ", ::geteuid()), "@",
                host_name());
}

Connection::Connection(std::string address, wire::Secret const& key, Clock::duration patience)
    : address_(std::move(address)) {
    std::optional<wire::Dialled> dialled;
    auto const dialling = wire::dial(
        loop_, wire::Address::parse(text("tcp:", address_)),
        {.secret = key, .self = {.name = client_name()}}, link_options(), patience,
        [&](wire::Dialled outcome) {
            dialled = std::move(outcome);
            if (!dialled->link) return;
            link_ = std::move(dialled->link);
            link_->on({.message = [this](wire::Message const& message) { on_message(message); },
                       .end = [this](wire::LinkEnd const& end) { ended_ = end.text; }});
        });
    SpinPolicy sleeps;
    loop_.drive([&] { return dialled.has_value(); }, Clock::time_point::max(), sleeps);
    if (link_) return;
    if (!dialled) throw Unavailable(text(address_, ": interrupted"));
    bool const other_key =
        dialled->error.find("does not know this job's secret") != std::string::npos;
    throw Unavailable(text(dialled->error, other_key ? ". Its key is another one. See --key" : ""));
}

void Connection::on_message(wire::Message const& message) {
    std::string_view const bytes(reinterpret_cast<char const*>(message.payload.data()),
                                 message.payload.size());
    auto const kind = static_cast<MessageKind>(message.kind);
    if (kind == MessageKind::out || kind == MessageKind::err) {
        received_.emplace_back(OutputBytes{kind, std::string(bytes)});
        return;
    }
    try {
        received_.emplace_back(parse_server_answer(bytes));
    } catch (UsageError const& problem) {
        invalid_ = text(address_, " has sent what is ", problem.what());
    }
}

void Connection::send(ClientRequest const& request) {
    auto const bytes = to_json(request);
    if (bytes.size() > largest_message)
        throw UsageError(text("the description of the job has ", bytes.size(),
                              " bytes (must be at most ", largest_message,
                              "). Pass fewer variables or arguments, or use files"));
    link_->send(static_cast<std::uint8_t>(MessageKind::request), 0,
                {std::as_bytes(std::span(bytes))});
}

std::optional<Received> Connection::next(Clock::time_point deadline,
                                         std::function<bool()> const& interrupted) {
    bool stopped = false;
    SpinPolicy sleeps;
    loop_.drive(
        [&] {
            stopped = interrupted && interrupted();
            return stopped || !received_.empty() || !ended_.empty() || !invalid_.empty();
        },
        deadline, sleeps);
    if (!received_.empty()) {
        auto first = std::move(received_.front());
        received_.pop_front();
        return first;
    }
    if (!invalid_.empty()) throw UsageError(invalid_);
    if (!ended_.empty()) throw PeerLost(ended_);
    return std::nullopt;
}

ServerAnswer Connection::answer(Clock::duration patience) {
    auto const deadline = Clock::now() + patience;
    for (;;) {
        auto const received = next(deadline);
        if (!received)
            throw Unavailable(text(address_, " does not answer. Is its machine overloaded?"));
        auto const* const answer = std::get_if<ServerAnswer>(&*received);
        if (answer == nullptr) continue;
        if (answer->kind != ServerAnswer::Kind::error) return *answer;
        if (answer->usage) throw UsageError(answer->text);
        throw Unavailable(answer->text);
    }
}

void Connection::hold(bool held) {
    if (held) link_->pause();
    else link_->resume();
}

void Connection::close() {
    link_->close();
    SpinPolicy sleeps;
    loop_.drive([&] { return !ended_.empty(); }, Clock::now() + std::chrono::seconds(2), sleeps);
}

}  // namespace sinew::launch::service
