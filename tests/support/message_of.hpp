// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace sinew::testing_support {

/// The text of the error of type E that the call throws, or a text that it throws none.
template <class E, class Call>
std::string message_of(Call const& call) {
    try {
        call();
    } catch (E const& error) {
        return error.what();
    }
    return "nothing was thrown";
}

}  // namespace sinew::testing_support
