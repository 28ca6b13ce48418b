// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstring>

#include "src/c_api/arguments.hpp"

namespace sinew::c_api {

/// The options of a program, which may have been compiled with an earlier version of their struct: what it
/// lacks is as in `defaults`. `least` is the size of the first version.
template <class Struct>
Struct with_defaults(Struct const& given, Struct const& defaults, std::size_t least,
                     char const* initializer) {
    if (given.size < least || given.size > sizeof(Struct))
        throw UsageError(text("the options say that their size is ", given.size, " (expected ",
                              least, " to ", sizeof(Struct), "). Begin with ", initializer));
    Struct result = defaults;
    std::memcpy(&result, &given, given.size);
    return result;
}

/// The default options if `given` is null.
GradientOptions gradient_options(sinew_gradient_options const* given);
std::vector<Gradient> gradients_of(sinew_gradient const* given, size_t count);
std::vector<Buffer> buffers_of(sinew_gradient const* given, size_t count);

}  // namespace sinew::c_api
