// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace sinew::detail {

/// "sinew::DecodeError" of std::type_info::name(), as people know it: without the standard library's
/// inline namespaces.
std::string demangle(char const* mangled);
/// The same of an exception's type: without the wrapping of std::throw_with_nested.
std::string exception_name(char const* mangled);

}  // namespace sinew::detail
