// SPDX-License-Identifier: Apache-2.0
#include <sinew/init.hpp>

#include <cstdlib>

#include "src/process/child.hpp"

namespace sinew {

void init(int, char**) {
    process::init_called();
    process::ChildStart start;
    if (process::is_child(start)) std::exit(process::run_role({}, start));
}

}  // namespace sinew
