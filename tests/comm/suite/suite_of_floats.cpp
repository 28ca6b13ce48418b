// SPDX-License-Identifier: Apache-2.0
#include "tests/comm/suite/suite_types.hpp"

namespace sinew::tests {

void suite_of_floats(Communicator& comm) {
    suite_of_type<float16>(comm);
    suite_of_type<bfloat16>(comm);
    suite_of_type<float>(comm);
    suite_of_type<double>(comm);
}

}  // namespace sinew::tests
