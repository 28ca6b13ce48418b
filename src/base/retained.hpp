// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <type_traits>
#include <utility>

namespace sinew::detail {

/// Keeps an object until the process ends, without ever destroying it: for memory that a medium may
/// still read or write although its transfer was cancelled. Any thread. Throws std::bad_alloc.
void retain_until_exit(std::shared_ptr<void> object);

/// The same for a value, whose own heap memory stays where it is.
template <class T>
void retain_value_until_exit(T&& value) {
    retain_until_exit(std::make_shared<std::remove_cvref_t<T>>(std::forward<T>(value)));
}

}  // namespace sinew::detail
