// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <string>

#include <sinew/error.hpp>

namespace sinew::testing_support {

/// The text of the UsageError that the call throws; fails the test if it throws none.
template <class Call>
std::string refusal(Call const& call) {
    try {
        call();
    } catch (UsageError const& error) {
        return error.what();
    }
    ADD_FAILURE() << "is not refused";
    return {};
}

}  // namespace sinew::testing_support
