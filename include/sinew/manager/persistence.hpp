// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <concepts>
#include <cstdint>
#include <type_traits>

#include <sinew/task/encoding.hpp>

namespace sinew {

/// When the state of an object is saved in the process that made its manager, so that it survives a
/// restart; see ManagerOptions. Applies to Checkpointable objects. Both limits may be set.
struct Checkpoints {
    /// Saves after every N calls of an object. 1: a call is answered only when the state after it
    /// is kept, so no answered call is lost. N: the last N - 1 answered calls may be lost. 0: not
    /// by number.
    std::uint64_t every_calls = 0;
    /// Maximum time between a call and a checkpoint that includes it. 0: not by time.
    std::chrono::nanoseconds interval{0};
};

/// Types whose state can outlive their process. `auto save() const` returns a value of any type
/// that can be encoded; `void restore(State)` receives it after the object was constructed from its
/// first arguments. A type may override its manager's options by `static constexpr
/// sinew::Checkpoints checkpoints{.every_calls = 1};`.
template <class T>
concept Checkpointable = requires(T const& object, T& again) {
    again.restore(object.save());
};

namespace detail {

/// Functions that save and restore the state of a type.
struct Persistence {
    void (*save)(void const* object, Writer& state);
    void (*restore)(void* object, Reader& state);
    Checkpoints const* checkpoints;  ///< null: the manager's options apply
};

template <class T>
struct PersistenceOf {
    using State = std::decay_t<decltype(std::declval<T const&>().save())>;
    static void save(void const* object, Writer& state) {
        encode<State>(state, static_cast<T const*>(object)->save());
    }
    static void restore(void* object, Reader& state) {
        static_cast<T*>(object)->restore(decode<State>(state));
    }
    static constexpr Checkpoints const* checkpoints() {
        if constexpr (requires {
                          { T::checkpoints } -> std::convertible_to<Checkpoints const&>;
                      })
            return &T::checkpoints;
        else return nullptr;
    }
    static inline Persistence const value{&save, &restore, checkpoints()};
};

/// Null if the type's state cannot be saved.
template <class T>
constexpr Persistence const* persistence_of() {
    if constexpr (Checkpointable<T>) return &PersistenceOf<T>::value;
    else return nullptr;
}

}  // namespace detail
}  // namespace sinew
