// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <type_traits>
#include <utility>

namespace sinew::detail {

/// Keeps an object until the process ends and never destroys it. Use it for memory that a medium
/// may still read or write after its transfer was cancelled. Thread-safe. Throws std::bad_alloc.
void retain_until_exit(std::shared_ptr<void> object);

/// Does the same for a value. It is moved, so heap memory that it owns keeps its address.
template <class T>
void retain_value_until_exit(T&& value) {
    retain_until_exit(std::make_shared<std::remove_cvref_t<T>>(std::forward<T>(value)));
}

}  // namespace sinew::detail
