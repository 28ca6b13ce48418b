// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <typeinfo>

#include <sinew/detail/plain_function.hpp>
#include <sinew/detail/signature.hpp>
#include <sinew/task/encoding.hpp>

namespace sinew::detail {

/// Must be called within a handler: rethrows the current exception, nested in a DecodeError unless
/// it is a DecodeError or std::bad_alloc.
[[noreturn]] void refuse_arguments();

/// For a method, the name of the object's type; otherwise null.
template <class F>
char const* object_type() {
    if constexpr (requires { typename Callable<F>::Object; })
        return typeid(typename Callable<F>::Object).name();
    else return nullptr;
}

/// How the function of a call is encoded, if it has state, and made again.
template <class F>
struct CallTarget {
    static void encode_function([[maybe_unused]] Writer& writer,
                                [[maybe_unused]] F const& function) {
        if constexpr (!stateless<F>) encode(writer, function);
    }
    static std::shared_ptr<void> make([[maybe_unused]] Reader& reader) {
        if constexpr (stateless<F> || !Encodable<F>) return nullptr;
        else return std::make_shared<F>(decode<F>(reader));
    }
    static constexpr TaskEntry::Make maker = stateless<F> ? nullptr : &make;
};

/// Decodes arguments for parameters of types P. Consumes nothing if that fails.
template <class... P>
std::tuple<std::remove_cvref_t<P>...> decode_arguments([[maybe_unused]] Reader& reader) {
    if constexpr (sizeof...(P) == 0) {
        return {};
    } else {
        Reader const before = reader;
        try {  // braces: evaluation in this order
            return std::tuple<std::remove_cvref_t<P>...>{decode<std::remove_cvref_t<P>>(reader)...};
        } catch (...) {
            reader = before;
            refuse_arguments();
        }
    }
}

/// A call with its types: the parameters of the function as declared, and the types that are
/// passed.
template <class F, class Declared, class... Passed>
struct TypedCall;
template <class F, class... P, class... Passed>
struct TypedCall<F, std::tuple<P...>, Passed...> : CallTarget<F> {
    using Arguments = std::tuple<std::remove_cvref_t<P>...>;
    using Result = std::decay_t<std::invoke_result_t<typename Callable<F>::Type&, P&&...>>;

    static TaskEntry const& entry() { return entry_; }

    static void encode_arguments(Writer& writer, Passed const&... passed) {
        (encode_as<std::remove_cvref_t<P>>(writer, passed), ...);
    }
    static Result decode_result([[maybe_unused]] Reader& reader) {
        if constexpr (!std::is_void_v<Result>) return decode<Result>(reader);
    }

private:
    template <class T, class From>
    static void encode_as(Writer& writer, From const& from) {
        if constexpr (std::is_same_v<T, From>) encode(writer, from);
        else encode(writer, static_cast<T>(from));
    }
    static void run(void* function, Reader& reader, Writer& writer) {
        (void)writer;
        Arguments arguments = decode_arguments<P...>(reader);
        auto const call = [function](auto&... values) -> decltype(auto) {
            return std::invoke(Callable<F>::of(function), static_cast<P&&>(values)...);
        };
        if constexpr (std::is_void_v<Result>) std::apply(call, arguments);
        else encode<Result>(writer, std::apply(call, arguments));
    }
    // Constructed before main() because entry() uses it, even if entry() is never called.
    static inline TaskEntry const entry_{&run, CallTarget<F>::maker, typeid(F).name(),
                                         meta_for<F>(), object_type<F>()};
};

/// Replaces a call that cannot be made, so that a failed static_assert is the only message.
struct NoCall {
    using Arguments = std::tuple<>;
    using Result = void;
    static TaskEntry const& entry();
    static void encode_arguments(Writer&, auto const&...) {}
    static void encode_function(Writer&, auto const&) {}
    static void decode_result(Reader&) {}
};

template <class F, class P, class Passed>
consteval bool argument_fits() {
    constexpr bool value =
        !std::is_lvalue_reference_v<P> || std::is_const_v<std::remove_reference_t<P>>;
    static_assert(
        value,
        "sinew: a task cannot take references to non-const: what it changes would stay in "
        "the other process. Return it");
    using T = std::remove_cvref_t<P>;
    constexpr bool converts = std::is_same_v<T, Passed> || std::is_convertible_v<Passed const&, T>;
    static_assert(converts, "sinew: an argument cannot be converted to what the task takes");
    return value && converts;
}

template <class F, class... Passed, class... P>
consteval bool arguments_fit(std::type_identity<std::tuple<P...>>) {
    constexpr bool count = sizeof...(P) == sizeof...(Passed);
    static_assert(count, "sinew: the task takes another number of arguments than it is passed");
    if constexpr (count) {
        if constexpr ((argument_fits<F, P, Passed>() && ...)) {
            constexpr bool callable = std::is_invocable_v<typename Callable<F>::Type&, P&&...>;
            static_assert(callable,
                          "sinew: the task cannot be called with arguments of these types");
            return callable;
        }
    }
    return false;
}

template <class F>
struct MethodOf {
    static constexpr bool fits = true;
};

template <class F, class... Passed>
consteval bool callable_elsewhere() {
    constexpr bool pointer = std::is_member_pointer_v<F>;
    constexpr bool own = MethodOf<F>::fits;
    static_assert(!captures<F>,
                  "sinew: task lambdas must not capture: pass data as arguments, or use a "
                  "serialisable function object");
    static_assert(!pointer,
                  "sinew: pointers to members mean nothing in another process: name the member at "
                  "compile time, as sinew::task<&Class::member>");
    static_assert(
        own,
        "sinew: the method is none of the object's class, nor of a base of it (see T and M "
        "of Method<T, M> in what the compiler says)");
    if constexpr (!captures<F> && !pointer && own)
        return arguments_fit<F, Passed...>(std::type_identity<DeclaredOf<F, Passed...>>());
    return false;
}

/// The typed part of a call in another process. F is Task<&function>, a function, a lambda without
/// captures, or a function object, whose state is encoded. Mentioning entry() anywhere in a program
/// registers the call in every process of it.
///   Arguments, Result    the function's parameters and result, decayed; Result may be void
template <class F, class... Passed>
struct Call : std::conditional_t<callable_elsewhere<Target<F>, Passed...>(),
                                 TypedCall<Target<F>, DeclaredOf<Target<F>, Passed...>, Passed...>,
                                 NoCall> {};

}  // namespace sinew::detail
