// SPDX-License-Identifier: Apache-2.0
#include "tests/comm/suite/suite_types.hpp"

namespace sinew::tests {

void suite_of_unsigned(Communicator& comm) {
    suite_of_type<std::uint8_t>(comm);
    suite_of_type<std::uint16_t>(comm);
    suite_of_type<std::uint32_t>(comm);
    suite_of_type<std::uint64_t>(comm);
}

}  // namespace sinew::tests
