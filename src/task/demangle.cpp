// SPDX-License-Identifier: Apache-2.0
#include "src/task/demangle.hpp"

#include <cxxabi.h>

#include <cstdlib>
#include <memory>
#include <string_view>

namespace sinew::detail {

namespace {

void replace_all(std::string& text, std::string_view from, std::string_view to) {
    for (auto at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size()))
        text.replace(at, from.size(), to);
}

}  // namespace

std::string demangle(char const* mangled) {
    if (*mangled == '*') ++mangled;  // a marker: types are compared by the name's address
    int failed = 0;
    std::unique_ptr<char, decltype(&std::free)> const whole(
        abi::__cxa_demangle(mangled, nullptr, nullptr, &failed), std::free);
    std::string name = failed == 0 ? whole.get() : mangled;
    replace_all(name, "__cxx11::", "");
    replace_all(name, "[abi:cxx11]", "");
    replace_all(name, "std::basic_string<char, std::char_traits<char>, std::allocator<char> >",
                "std::string");
    return name;
}

std::string exception_name(char const* mangled) {
    std::string const name = demangle(mangled);
    constexpr std::string_view wrapping = "std::_Nested_exception<";
    if (!name.starts_with(wrapping)) return name;
    return name.substr(wrapping.size(), name.size() - wrapping.size() - 1);
}

}  // namespace sinew::detail
