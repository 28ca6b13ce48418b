// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <type_traits>

#include <sinew/manager/object.hpp>

namespace sinew {
namespace detail {
std::shared_ptr<ObjectEnd> make_here(TaskEntry const& constructor, Writer& arguments,
                                     unsigned calls);
}  // namespace detail

/// Functions for methods of objects in a manager's process.
namespace this_manager {

/// Makes T(arguments...) in this manager's process, in this thread. The object is like one made by
/// Manager::create, and its handle may be returned or stored. Exceptions of the constructor are
/// passed on. Throws UsageError if this process is not a manager.
template <class T, class... Args>
Object<T> create(Args const&... arguments) {
    using Made = detail::Construction<T, std::decay_t<Args const>...>;
    auto& writer = detail::argument_writer();
    Made::encode_arguments(writer, arguments...);
    return Object<T>(detail::make_here(Made::entry(), writer, 1));
}

}  // namespace this_manager
}  // namespace sinew
