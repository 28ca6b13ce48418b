// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "src/process/shared/shared_file.hpp"

namespace sinew::process {

class Peer;

/// Which processes on other hosts have a shared object, as its owner knows it: the object goes to each host
/// once, and the host's other processes are told where it lies there. Under the runtime's guard.
class SharedCopies {
public:
    using PeerPointer = std::shared_ptr<Peer>;
    enum class Answer : std::uint8_t { ship, wait, at };

    /// A process of the host asks. `wait`: it is answered when the one before it has got it; `at`: see place().
    Answer asked(std::string const& host, PeerPointer const& by);
    FilePlace const& place(std::string const& host) const { return hosts_.at(host).place; }

    /// Those who waited, to be told the place.
    std::vector<PeerPointer> arrived(PeerPointer const& at, FilePlace const& place);
    /// The process has ended, or cannot keep it for others: who is to be sent the object in its stead.
    std::vector<PeerPointer> lost(PeerPointer const& peer);
    /// Who has a copy, or is about to.
    std::vector<PeerPointer> holders() const;

private:
    struct Host {
        PeerPointer holder;
        FilePlace place;  ///< no file: it is on its way
        std::vector<PeerPointer> waiting;
    };
    std::map<std::string, Host> hosts_;
};

}  // namespace sinew::process
