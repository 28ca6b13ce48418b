// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <exception>
#include <functional>
#include <string>

#include <gtest/gtest.h>

#include "src/base/hex.hpp"
#include "src/base/text.hpp"
#include "src/node_memory/arena/mapping.hpp"
#include "tests/support/child.hpp"

/// Memory that one process makes and another opens. The other one is forked before the memory is
/// made, so that it knows nothing of it but the name.
namespace sinew::node_memory {

using testing_support::Child;

/// A pipe for one plain value, between a process and its fork.
template <class Plain>
class Handover {
public:
    Handover() {
        if (::pipe(ends_) != 0) throw std::runtime_error("pipe");
    }
    Handover(Handover const&) = delete;
    ~Handover() {
        ::close(ends_[0]);
        ::close(ends_[1]);
    }
    void give(Plain const& value) const {
        if (::write(ends_[1], &value, sizeof value) != sizeof value)
            throw std::runtime_error("write");
    }
    Plain take() const {
        Plain value;
        if (::read(ends_[0], &value, sizeof value) != sizeof value)
            throw std::runtime_error("read");
        return value;
    }

private:
    int ends_[2];
};

/// Exit statuses of a fork.
inline constexpr int as_expected = 0, not_permitted = 77;

/// The status of a fork that runs `body`: what it returns, or 100 after an exception, whose text it
/// prints.
inline int in_a_fork(std::function<int()> const& body) {
    Child child([&] {
        try {
            return body();
        } catch (std::exception const& error) {
            std::fprintf(stderr, "in the fork: %s\n", error.what());
            return 100;
        }
    });
    int const status = child.wait();
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/// Gives this process a /dev/shm of its own of this size. Returns false if that is not permitted.
inline bool use_own_shm(char const* size) {
    if (::unshare(CLONE_NEWNS) != 0 && ::unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0) return false;
    return ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
           ::mount("tmpfs", "/dev/shm", "tmpfs", 0, text("size=", size).c_str()) == 0;
}

/// Whether POSIX memory has a name.
inline bool is_named(MappingName const& name) {
    auto const nonce =
        to_hex({reinterpret_cast<std::byte const*>(name.nonce.data()), name.nonce.size()});
    return ::access(text("/dev/shm/sinew-", nonce).c_str(), F_OK) == 0;
}

}  // namespace sinew::node_memory
