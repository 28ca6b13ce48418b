// SPDX-License-Identifier: Apache-2.0
#include "tests/comm/suite/suite_types.hpp"

namespace sinew::tests {

void suite_of_signed(Communicator& comm) {
    suite_of_type<std::int8_t>(comm);
    suite_of_type<std::int16_t>(comm);
    suite_of_type<std::int32_t>(comm);
    suite_of_type<std::int64_t>(comm);
}

}  // namespace sinew::tests
