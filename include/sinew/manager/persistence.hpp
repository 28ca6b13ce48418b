// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <concepts>
#include <cstdint>
#include <type_traits>

#include <sinew/task/encoding.hpp>

namespace sinew {

/// When the states of objects go to the process that made their manager, where they outlive it: see
/// ManagerOptions. Only of objects that can be saved (see Checkpointable). Both may be given.
struct Checkpoints {
    /// Whenever so many calls of an object have been executed. 1: a call is answered only when the
    /// state after it is kept, so that nothing is lost that was answered. N: of what was answered, the
    /// last N - 1 calls may be lost. 0: not by their number.
    std::uint64_t every_calls = 0;
    /// So long after a call that is in no checkpoint yet, at the latest. 0: not by time.
    std::chrono::nanoseconds interval{0};
};

/// Objects whose state outlives their process: `auto save() const` gives a value of any type that
/// travels, which `void restore(State)` takes, after the constructor with its first arguments. A type
/// may also say itself when: `static constexpr sinew::Checkpoints checkpoints{.every_calls = 1};`,
/// instead of what its manager's options say.
template <class T>
concept Checkpointable = requires(T const& object, T& again) {
    again.restore(object.save());
};

namespace detail {

/// How a type's state gets from one process to another.
struct Persistence {
    void (*save)(void const* object, Writer& state);
    void (*restore)(void* object, Reader& state);
    Checkpoints const* checkpoints;  ///< null: as the manager has it
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
    static inline Persistence const keeping{&save, &restore, checkpoints()};
};

/// Null: its state cannot be saved.
template <class T>
constexpr Persistence const* persistence_of() {
    if constexpr (Checkpointable<T>) return &PersistenceOf<T>::keeping;
    else return nullptr;
}

}  // namespace detail
}  // namespace sinew
