// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <functional>
#include <list>
#include <string>
#include <string_view>

#include "launchers/tree/protocol.hpp"
#include "src/base/system/unique_fd.hpp"
#include "src/wire/loop/loop.hpp"

namespace sinew::launch {

/// Where programs on this node tell the job's dashboard about their pools: a Unix socket in the
/// job's folder, for processes of this user. A connection carries lines; if they come faster than
/// the root takes them, the newest replaces the one that waits. On the loop's thread.
class ReportSocket {
public:
    /// Sends one report up. The next one follows after taken().
    using Send = std::function<void(ReportHead const& head, std::string_view line)>;

    /// Throws SystemError, UsageError.
    ReportSocket(wire::Loop& loop, std::string path, Send send);
    ReportSocket(ReportSocket const&) = delete;
    ~ReportSocket();

    std::string const& path() const { return path_; }
    void taken();

private:
    struct Client {
        UniqueFd fd;
        pid_t pid = 0;
        std::string in;
        std::string line;   ///< waits for its turn
        bool gone = false;  ///< so does the news that it has ended
        wire::Loop::Handle readable;
    };
    using Clients = std::list<Client>;

    void listen();
    void accept();
    void on_readable(Clients::iterator at);
    void hang_up(Clients::iterator at);
    void send_next();

    wire::Loop& loop_;
    std::string const path_;
    Send const send_;
    UniqueFd listener_;
    Clients clients_;  ///< in the order of their turns
    bool under_way_ = false;
    wire::Loop::Handle accepting_;
};

}  // namespace sinew::launch
