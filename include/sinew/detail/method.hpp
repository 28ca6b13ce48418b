// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <tuple>
#include <type_traits>
#include <typeinfo>
#include <utility>

#include <sinew/detail/call.hpp>
#include <sinew/manager/deferred.hpp>
#include <sinew/manager/persistence.hpp>

namespace sinew::detail {

/// A member function of T, or of a base of T, that is called in the process of the object.
template <class T, auto M>
struct Method {};

template <class T, auto M>
struct Callable<Method<T, M>> {
    using Object = T;
    struct Type {
        T* object;
        template <class... A>
        requires std::is_invocable_v<decltype(M), T&, A...>
        decltype(auto) operator()(A&&... arguments) const {
            return std::invoke(M, *object, std::forward<A>(arguments)...);
        }
    };
    static Type of(void* object) { return {static_cast<T*>(object)}; }
};

template <class T, auto M>
struct MethodOf<Method<T, M>> {
    template <class Member, class Class>
    static constexpr bool is_of(Member Class::*) {
        return std::is_base_of_v<Class, T>;
    }
    static constexpr bool is_of(auto) { return true; }
    static constexpr bool fits = is_of(M);
};

template <class T, auto M>
struct Signature<Method<T, M>> : Signature<std::remove_const_t<decltype(M)>> {};

/// The type that is encoded for a constructor argument: std::string for text.
template <class Passed>
using Constructed =
    std::conditional_t<std::is_convertible_v<Passed const&, char const*>, std::string, Passed>;

/// Makes an object in another process; registered like a task.
template <class T, class... Passed>
class Construction {
public:
    static TaskEntry const& entry() { return entry_; }
    static void encode_arguments([[maybe_unused]] Writer& writer, Passed const&... passed) {
        (encode(writer, Constructed<Passed>(passed)), ...);
    }

private:
    static_assert(std::is_constructible_v<T, Constructed<Passed>...>,
                  "sinew: the object cannot be constructed from these arguments");
    static std::shared_ptr<void> make([[maybe_unused]] Reader& reader) {
        // Braces: evaluation in this order.
        return std::apply(
            [](auto&&... values) { return make_object<T>(std::move(values)...); },
            std::tuple<Constructed<Passed>...>{decode<Constructed<Passed>>(reader)...});
    }
    static void run(void*, Reader&, Writer&) {}
    static inline TaskEntry const entry_{&run, &make,   typeid(T).name(),
                                         {},   nullptr, persistence_of<T>()};
};

}  // namespace sinew::detail
