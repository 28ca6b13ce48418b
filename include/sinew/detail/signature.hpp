// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>
#include <tuple>
#include <type_traits>

#include <sinew/detail/task.hpp>

namespace sinew::detail {

/// The parameters of a function as declared; `known` is false if they depend on the arguments.
template <class F>
struct Signature {
    static constexpr bool known = false;
};
template <class... P>
struct Parameters {
    static constexpr bool known = true;
    using Declared = std::tuple<P...>;
};

template <class R, class... P>
struct Signature<R (*)(P...)> : Parameters<P...> {};
template <class R, class... P>
struct Signature<R (*)(P...) noexcept> : Parameters<P...> {};
template <class R, class C, class... P>
struct Signature<R (C::*)(P...)> : Parameters<P...> {};
template <class R, class C, class... P>
struct Signature<R (C::*)(P...) noexcept> : Parameters<P...> {};
template <class R, class C, class... P>
struct Signature<R (C::*)(P...) const> : Parameters<P...> {};
template <class R, class C, class... P>
struct Signature<R (C::*)(P...) const noexcept> : Parameters<P...> {};
template <class R, class C, class... P>
struct Signature<R (C::*)(P...)&> : Parameters<P...> {};
template <class R, class C, class... P>
struct Signature<R (C::*)(P...) const&> : Parameters<P...> {};
template <class R, class C, class... P>
struct Signature<R (C::*)(P...)& noexcept> : Parameters<P...> {};
template <class R, class C, class... P>
struct Signature<R (C::*)(P...) const& noexcept> : Parameters<P...> {};

/// Function objects, unless operator() is overloaded or a template.
template <class F>
requires requires { &F::operator(); }
struct Signature<F> : Signature<decltype(&F::operator())> {};
template <auto F>
struct Signature<Task<F>> : Signature<std::remove_const_t<decltype(F)>> {};

/// The parameters as declared or, if the function does not determine them, derived from the
/// arguments.
template <class F, class... Passed>
struct ParametersFor {
    using Declared = std::tuple<std::decay_t<Passed>...>;
};
template <class F, class... Passed>
requires(Signature<F>::known) struct ParametersFor<F, Passed...> : Signature<F> {
};
template <class F, class... Passed>
using DeclaredOf = typename ParametersFor<F, Passed...>::Declared;

/// The object that is called: the function object itself, or the function that a Task names.
template <class F>
struct Callable {
    using Type = F;
    static F& of(void* function) { return *static_cast<F*>(function); }
};
template <class F>
requires(std::is_empty_v<F>&& std::is_default_constructible_v<F>) struct Callable<F> {
    using Type = F;
    static F of(void*) { return F(); }
};
template <auto F>
struct Callable<Task<F>> {
    using Type = std::remove_const_t<decltype(F)>;
    static constexpr Type of(void*) { return F; }
};

/// Whether the function object has no state to encode.
template <class F>
inline constexpr bool stateless = std::is_empty_v<F>&& std::is_default_constructible_v<F>;

template <class T>
constexpr bool named_like_a_lambda() {
    // "... named_like_a_lambda() [with T = main()::<lambda(int)>]": skips this function's own name.
    std::string_view name = __PRETTY_FUNCTION__;
    name.remove_prefix(name.find("T = "));
    return name.find("lambda") != std::string_view::npos;
}
/// Whether F is a lambda with captures. A lambda differs from other classes only by its name; one
/// with captures is neither default constructible nor assignable.
template <class F>
inline constexpr bool captures = !std::is_default_constructible_v<F> &&
                                 !std::is_copy_assignable_v<F> && named_like_a_lambda<F>();

}  // namespace sinew::detail
