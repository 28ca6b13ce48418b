// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <functional>
#include <string>

namespace sinew::bench {

/// A forked process that serves until it is killed, at the latest when this process ends.
class Server {
public:
    /// `serve` gets a function by which it reports its address, once.
    using Serve = std::function<void(std::function<void(std::string const&)> tell)>;
    explicit Server(Serve const& serve);
    Server(Server const&) = delete;
    Server& operator=(Server const&) = delete;
    ~Server();
    /// The address that the server reported; empty if it failed.
    std::string const& told() const { return told_; }

private:
    pid_t pid_ = -1;
    std::string told_;
};

/// A folder for sockets, mode 0700, removed with its contents.
class SocketFolder {
public:
    SocketFolder();
    SocketFolder(SocketFolder const&) = delete;
    SocketFolder& operator=(SocketFolder const&) = delete;
    ~SocketFolder();
    std::string const& path() const { return path_; }

private:
    std::string path_;
};

}  // namespace sinew::bench
