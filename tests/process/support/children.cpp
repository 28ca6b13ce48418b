// SPDX-License-Identifier: Apache-2.0
#include "tests/process/support/children.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <utility>

#include "src/wire/adopt.hpp"

namespace sinew::process::test {

std::span<std::byte const> bytes(std::string_view text) {
    return std::as_bytes(std::span(text.data(), text.size()));
}

std::string string(std::span<std::byte const> bytes) {
    return {reinterpret_cast<char const*>(bytes.data()), bytes.size()};
}

Heard::Heard(ChildSpec const& spec, bool listen_) {
    std::unique_lock lock(Runtime::instance().guard());
    child_ = start_child(spec);
    pid_ = child_->pid();
    lock.unlock();
    if (listen_) listen();
}

Heard::~Heard() { drop(); }

void Heard::drop() {
    std::lock_guard const lock(Runtime::instance().guard());
    child_ = nullptr;
}

void Heard::listen() {
    std::lock_guard const lock(Runtime::instance().guard());
    auto const noting = [this](std::vector<std::string>& into) {
        return [this, &into](wire::Message const& message) {
            into.push_back(string(message.payload));
            changed_.notify_all();
        };
    };
    child_->on({.control = noting(control),
                .bulk = noting(bulk),
                .liveness =
                    [this](wire::Liveness now) {
                        liveness.push_back(now);
                        changed_.notify_all();
                    },
                .ended =
                    [this](ChildEnd const& how) {
                        end = how;
                        ++ends;
                        changed_.notify_all();
                    }});
}

void Heard::send(std::string_view words, std::uint8_t kind) {
    std::lock_guard const lock(Runtime::instance().guard());
    child_->control().send_now(kind, 0, {bytes(words)});
}

void Heard::send_bulk(std::string_view words) {
    std::lock_guard const lock(Runtime::instance().guard());
    child_->bulk().send_now(0, 0, {bytes(words)});
}

void Heard::signal(int number) {
    std::lock_guard const lock(Runtime::instance().guard());
    child_->signal(number);
}

bool Heard::wait_for(std::function<bool(Heard const&)> const& holds) {
    std::unique_lock lock(Runtime::instance().guard());
    return changed_.wait_for(lock, limit, [&] { return holds(*this); });
}

ChildEnd const& Heard::wait_for_end() {
    EXPECT_TRUE(wait_for([](auto const& heard) { return heard.end.has_value(); })) << "no end";
    static ChildEnd const none{.code = -1, .signal = -1, .log = "never ended"};
    return end ? *end : none;
}

ParentLinks::ParentLinks(ChildStart& start) {
    auto& runtime = Runtime::instance();
    std::lock_guard const lock(runtime.guard());
    control = wire::adopt(runtime.loop(), std::move(start.control), parent_identity(start),
                          control_options());
    bulk =
        wire::adopt(runtime.loop(), std::move(start.bulk), parent_identity(start), bulk_options());
}

ParentLinks::~ParentLinks() {
    std::lock_guard const lock(Runtime::instance().guard());
    control = nullptr;
    bulk = nullptr;
}

void ParentLinks::serve(std::function<void(ParentLinks&, wire::Message const&)> const& answer) {
    std::unique_lock lock(Runtime::instance().guard());
    for (auto* const link : {control.get(), bulk.get()})
        link->on({.message = [&](wire::Message const& message) { answer(*this, message); },
                  .end =
                      [this](wire::LinkEnd const&) {
                          over_ = true;
                          changed_.notify_all();
                      }});
    changed_.wait(lock, [this] { return over_; });
}

void ParentLinks::send(std::string_view words) { control->send(0, 0, {bytes(words)}); }

int open_descriptors() {
    int count = 0;
    for ([[maybe_unused]] auto const& each : std::filesystem::directory_iterator("/proc/self/fd"))
        ++count;
    return count;
}

}  // namespace sinew::process::test
