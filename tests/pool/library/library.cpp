// SPDX-License-Identifier: Apache-2.0
#include "tests/pool/library/library.hpp"

namespace sinew::testing_library {

int cube(int x) { return x * x * x; }

std::vector<int> fourth_powers(Pool& pool, std::vector<int> const& values) {
    return pool.map([](int x) { return x * x * x * x; }, values);
}

}  // namespace sinew::testing_library
