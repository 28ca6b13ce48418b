// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "launchers/service/protocol.hpp"
#include "src/base/system/unique_fd.hpp"
#include "src/wire/link.hpp"

namespace sinew::launch::service {

/// One of the two files with a job's output, on its way to a client.
class OutputFollower {
public:
    /// Begins behind so many bytes, or with the last lines of what there is. Throws SystemError.
    OutputFollower(std::string const& path, MessageKind kind, std::uint64_t begin,
                   std::optional<int> tail);

    enum class Progress : std::uint8_t {
        none,  ///< nothing is there that was not sent
        some,  ///< something was sent, and more may be there
        full,  ///< the link takes no more before it has drained
    };
    Progress send_some(wire::Link& link);

private:
    void skip_to_tail(int lines);

    UniqueFd file_;
    MessageKind kind_;
    std::uint64_t offset_;
};

}  // namespace sinew::launch::service
