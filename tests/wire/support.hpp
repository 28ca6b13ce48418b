// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "src/wire/link.hpp"
#include "tests/support/child.hpp"

namespace sinew::wire::test {

/// A folder of mode 0700, removed at the end; what is left in it is a failure of the test.
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

/// Runs the loop until the condition holds; false when it does not within the bound.
bool run_until(Loop& loop, std::function<bool()> const& condition,
               Clock::duration bound = std::chrono::seconds(40));

/// For "nothing happens": turns the loop for a while.
void run_for(Loop& loop, Clock::duration time);

/// What a test keeps of one end of a link.
struct End {
    std::unique_ptr<Link> link;
    std::vector<std::string> messages;
    std::vector<LinkEnd> ends;
    std::vector<Liveness> liveness;
    int drained = 0;

    /// Sets callbacks that note everything.
    void take(std::unique_ptr<Link> accepted);
};

/// Where a test listens: a socket in `folder`, or a free port of the loopback interface.
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

/// A forked process with a loop of its own; it exits with 0 when `work` returns.
testing_support::Child fork_peer(std::function<void(Loop&)> const& work);

std::span<std::byte const> bytes(std::string_view text);
std::string string(std::span<std::byte const> payload);

int open_descriptors();

}  // namespace sinew::wire::test
