// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "src/process/shared/shared_file.hpp"

namespace sinew::process {

class Peer;

/// For the owner of a shared object: which processes on other hosts have a copy. The object is sent
/// to each host once; the other processes of that host are told where it is. Requires:
/// runtime's guard held.
class SharedCopies {
public:
    using PeerPointer = std::shared_ptr<Peer>;
    enum class Answer : std::uint8_t { ship, wait, at };

    /// A process of the host asks. `wait`: answer it when the process before it has the object;
    /// `at`: see place().
    Answer asked(std::string const& host, PeerPointer const& by);
    FilePlace const& place(std::string const& host) const { return hosts_.at(host).place; }

    /// Returns the processes that waited; the caller sends them the place.
    std::vector<PeerPointer> arrived(PeerPointer const& at, FilePlace const& place);
    /// The process has ended, or cannot keep the object for others. Returns the processes to which
    /// the object must be sent instead.
    std::vector<PeerPointer> lost(PeerPointer const& peer);
    /// The processes that have a copy, or will have one.
    std::vector<PeerPointer> holders() const;

private:
    struct Host {
        PeerPointer holder;
        FilePlace place;  ///< no file: it is in flight
        std::vector<PeerPointer> waiting;
    };
    std::map<std::string, Host> hosts_;
};

}  // namespace sinew::process
