// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "src/process/child/child_role.hpp"

namespace sinew::process::test {

constexpr auto limit = std::chrono::seconds(60);

std::span<std::byte const> bytes(std::string_view text);
std::string string(std::span<std::byte const> bytes);

/// A child and its messages, for use by the test's thread.
class Heard {
public:
    explicit Heard(ChildSpec const& spec, bool listen = true);
    Heard(Heard const&) = delete;
    ~Heard();

    void listen();
    void send(std::string_view words, std::uint8_t kind = 0);
    void send_bulk(std::string_view words);
    void signal(int number);
    pid_t pid() const { return pid_; }
    StatusPage const& status() const { return child_->status(); }
    int sentinel() const { return child_->sentinel(); }
    /// Destroys the handle.
    void drop();

    /// Fails the test at the limit.
    ChildEnd const& wait_for_end();
    bool wait_for(std::function<bool(Heard const&)> const& holds);

    // Requires: the runtime's guard held, or the child has ended.
    std::vector<std::string> control, bulk;
    std::vector<wire::Liveness> liveness;
    std::optional<ChildEnd> end;
    int ends = 0;

private:
    std::condition_variable changed_;
    std::unique_ptr<Child> child_;
    pid_t pid_ = 0;
};

/// For roles: the child's links to its parent, until the parent ends. `answer` gets each message of
/// the control link and may use the links.
struct ParentLinks {
    explicit ParentLinks(ChildStart& start);
    ~ParentLinks();
    /// Blocks until the link ends.
    void serve(std::function<void(ParentLinks&, wire::Message const&)> const& answer);
    void send(std::string_view words);

    std::unique_ptr<wire::Link> control, bulk;

private:
    std::condition_variable changed_;
    bool over_ = false;
};

int open_descriptors();

}  // namespace sinew::process::test
