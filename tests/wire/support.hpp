// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "src/wire/link.hpp"
#include "tests/support/child.hpp"

namespace sinew::wire::test {

/// A folder of mode 0700, removed by the destructor; files left in it fail the test.
class PrivateFolder {
public:
    PrivateFolder();
    PrivateFolder(PrivateFolder const&) = delete;
    PrivateFolder& operator=(PrivateFolder const&) = delete;
    ~PrivateFolder();
    std::string const& path() const { return path_; }
    Address socket() const { return Address::unix_socket(path_ + "/test.sock"); }

private:
    std::string path_;
};

/// Runs the loop until the condition is true; returns false at the limit.
bool run_until(Loop& loop, std::function<bool()> const& condition,
               Clock::duration bound = std::chrono::seconds(40));

/// Runs the loop for a while, to verify that nothing happens.
void run_for(Loop& loop, Clock::duration time);

/// The state that a test keeps of one end of a link.
struct End {
    std::unique_ptr<Link> link;
    std::vector<std::string> messages;
    std::vector<LinkEnd> ends;
    std::vector<Liveness> liveness;
    int drained = 0;

    /// Sets callbacks that record everything.
    void take(std::unique_ptr<Link> accepted);
};

/// A listening address: a socket in `folder`, or a free port of the loopback interface.
Address address_of(Address::Family family, PrivateFolder const& folder);

/// Two ends of one link in one process, on one loop.
struct Pair {
    explicit Pair(Address::Family family, LinkOptions const& options = {});

    PrivateFolder folder;
    Loop loop;
    Secret secret = Secret::random();
    std::unique_ptr<Listener> listener;
    End accepted, dialled;
};

/// Forks a process with a loop; it exits with 0 when `work` returns.
testing_support::Child fork_peer(std::function<void(Loop&)> const& work);

std::span<std::byte const> bytes(std::string_view text);
std::string string(std::span<std::byte const> payload);

int open_descriptors();

}  // namespace sinew::wire::test
