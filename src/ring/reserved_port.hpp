// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "src/base/system/unique_fd.hpp"

namespace sinew::ring {

/// A TCP port on all addresses of this host that the kernel does not choose for other sockets,
/// neither for listening nor for connecting. A program that names it and sets SO_REUSEADDR can
/// listen on it meanwhile.
class ReservedPort {
public:
    /// Throws SystemError.
    ReservedPort();
    std::uint16_t number() const { return number_; }
    void release() { fd_ = UniqueFd(); }

private:
    UniqueFd fd_;
    std::uint16_t number_ = 0;
};

}  // namespace sinew::ring
