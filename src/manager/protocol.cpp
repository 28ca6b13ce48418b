// SPDX-License-Identifier: Apache-2.0
#include "src/manager/protocol.hpp"

namespace sinew::manager {

process::MessageHeader head(Op op, std::uint64_t id, std::uint64_t number) {
    return {process::ServiceId::manager, static_cast<std::uint16_t>(op), 0, id, number};
}

}  // namespace sinew::manager
