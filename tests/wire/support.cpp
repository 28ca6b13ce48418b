// SPDX-License-Identifier: Apache-2.0
#include "tests/wire/support.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <stdexcept>

namespace sinew::wire::test {

PrivateFolder::PrivateFolder() {
    path_ = (std::filesystem::temp_directory_path() / "sinew-wire-XXXXXX").string();
    if (::mkdtemp(path_.data()) == nullptr) throw std::runtime_error("mkdtemp failed: " + path_);
}

PrivateFolder::~PrivateFolder() {
    ::chmod(path_.c_str(), 0700);
    std::error_code error;
    for (auto const& left : std::filesystem::directory_iterator(path_, error))
        ADD_FAILURE() << "left behind: " << left.path();
    std::filesystem::remove_all(path_, error);
}

bool run_until(Loop& loop, std::function<bool()> const& condition, Clock::duration bound) {
    bool holds = condition();
    if (holds) return true;
    auto const check = loop.every(std::chrono::milliseconds(1), [&] {
        holds = condition();
        if (holds) loop.stop();
    });
    auto const limit = loop.after(bound, [&] { loop.stop(); });
    loop.run();
    return holds;
}

void run_for(Loop& loop, Clock::duration time) {
    auto const limit = loop.after(time, [&] { loop.stop(); });
    loop.run();
}

void End::take(std::unique_ptr<Link> taken) {
    link = std::move(taken);
    link->on({[this](Message const& message) { messages.push_back(string(message.payload)); },
              [this](LinkEnd const& end) { ends.push_back(end); },
              [this](Liveness state) { liveness.push_back(state); }, [this] { ++drained; }});
}

Address address_of(Address::Family family, PrivateFolder const& folder) {
    return family == Address::Family::tcp ? Address::tcp("127.0.0.1", 0) : folder.socket();
}

Pair::Pair(Address::Family family, LinkOptions const& options) {
    listener = std::make_unique<Listener>(
        loop, address_of(family, folder), Credentials{secret, {0, 0, 1, "root"}},
        Listener::Options{options},
        [this](std::unique_ptr<Link> link) { accepted.take(std::move(link)); });
    std::string error;
    auto const handle = dial(loop, listener->address(), {secret, {3, 4, 5, "agent on node-d"}},
                             options, std::chrono::seconds(30), [&](Dialled result) {
                                 error = result.error;
                                 if (result.link) dialled.take(std::move(result.link));
                             });
    if (!run_until(loop, [&] { return accepted.link && dialled.link; }))
        throw std::runtime_error("no link: " + error);
}

testing_support::Child fork_peer(std::function<void(Loop&)> const& work) {
    return testing_support::Child([&] {
        try {
            Loop loop;
            work(loop);
            return 0;
        } catch (std::exception const& error) {
            std::fprintf(stderr, "child: %s\n", error.what());
            return 1;
        }
    });
}

std::span<std::byte const> bytes(std::string_view text) {
    return std::as_bytes(std::span(text.data(), text.size()));
}

std::string string(std::span<std::byte const> payload) {
    return {reinterpret_cast<char const*>(payload.data()), payload.size()};
}

int open_descriptors() {
    int count = 0;
    for ([[maybe_unused]] auto const& entry : std::filesystem::directory_iterator("/proc/self/fd"))
        ++count;
    return count;
}

}  // namespace sinew::wire::test
