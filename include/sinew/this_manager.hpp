// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <type_traits>

#include <sinew/manager/object.hpp>

namespace sinew {
namespace detail {
std::shared_ptr<ObjectEnd> make_here(TaskEntry const& maker, Writer& arguments, unsigned calls);
}  // namespace detail

/// Within a manager's process: for methods of its objects.
namespace this_manager {

/// Makes an object beside the one that is called, in this thread: T(arguments...), whose exceptions
/// come out. As one that Manager::create makes; its handle may be returned, or kept. Throws UsageError
/// in a process that is no manager.
template <class T, class... Args>
Object<T> create(Args const&... arguments) {
    using Made = detail::Construction<T, std::decay_t<Args const>...>;
    auto& writer = detail::argument_writer();
    Made::encode_arguments(writer, arguments...);
    return Object<T>(detail::make_here(Made::entry(), writer, 1));
}

}  // namespace this_manager
}  // namespace sinew
