// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace sinew::detail {

/// Converts std::type_info::name() into a readable name such as "sinew::DecodeError", without the
/// standard library's inline namespaces.
std::string demangle(char const* mangled);
/// Does the same for an exception's type and removes the wrapper of std::throw_with_nested.
std::string exception_name(char const* mangled);

}  // namespace sinew::detail
