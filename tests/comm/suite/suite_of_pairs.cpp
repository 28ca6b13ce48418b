// SPDX-License-Identifier: Apache-2.0
#include "tests/comm/suite/suite_types.hpp"

namespace sinew::tests {

void suite_of_pairs(Communicator& comm) {
    suite_of_type<std::complex<float>>(comm);
    suite_of_type<std::complex<double>>(comm);
    suite_of_type<ValueIndex<float>>(comm);
    suite_of_type<ValueIndex<double>>(comm);
    suite_of_type<ValueIndex<std::int32_t>>(comm);
    suite_of_type<ValueIndex<std::int64_t>>(comm);
}

}  // namespace sinew::tests
