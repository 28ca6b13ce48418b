// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <tuple>
#include <type_traits>
#include <typeinfo>

#include <sinew/detail/call.hpp>
#include <sinew/ring_member.hpp>

namespace sinew::detail {

/// The context in which the entry of a ring's function is run.
struct RingInvocation {
    RingMember& member;
    void* function;
};

/// The parameters of a function without a leading RingMember&.
template <class Declared>
struct WithoutMember {
    using Rest = Declared;
};
template <class... P>
struct WithoutMember<std::tuple<RingMember&, P...>> {
    using Rest = std::tuple<P...>;
};
template <class F, class... Passed>
struct RingParameters {
    using Rest = std::tuple<std::decay_t<Passed>...>;
};
template <class F, class... Passed>
requires(Signature<F>::known) struct RingParameters<F, Passed...>
    : WithoutMember<typename Signature<F>::Declared> {
};

/// Whether a ring's function is called with its member and arguments of types P.
template <class F, class... P>
inline constexpr bool takes_member =
    std::is_invocable_v<typename Callable<F>::Type&, RingMember&, P...>;

/// Whether it is a function of (int rank, int size), as in Fiber.
template <class Parameters, class... Passed>
inline constexpr bool by_rank =
    sizeof...(Passed) == 0 && std::is_same_v<Parameters, std::tuple<int, int>>;

template <class F, class Rest, class... Passed>
struct TypedRingCall;

template <class F, class... P, class... Passed>
struct TypedRingCall<F, std::tuple<P...>, Passed...> : CallTarget<F> {
    static TaskEntry const& entry() { return entry_; }
    static void encode_arguments([[maybe_unused]] Writer& writer, Passed const&... passed) {
        if constexpr (!by_rank<std::tuple<P...>, Passed...>)
            (encode<std::remove_cvref_t<P>>(writer, static_cast<std::remove_cvref_t<P>>(passed)),
             ...);
    }

private:
    static void run(void* invocation, [[maybe_unused]] Reader& reader, Writer&) {
        auto& with = *static_cast<RingInvocation*>(invocation);
        auto&& function = Callable<F>::of(with.function);
        if constexpr (by_rank<std::tuple<P...>, Passed...>) {
            std::invoke(function, with.member.rank(), with.member.size());
        } else {
            auto const call = [&](auto&... values) {
                if constexpr (takes_member<F, P...>)
                    std::invoke(function, with.member, static_cast<P&&>(values)...);
                else std::invoke(function, static_cast<P&&>(values)...);
            };
            auto arguments = decode_arguments<P...>(reader);
            std::apply(call, arguments);
        }
    }
    static inline TaskEntry const entry_{&run, CallTarget<F>::maker, typeid(F).name(),
                                         meta_for<F>()};
};

template <class F, class... Passed, class... P>
consteval bool ring_arguments_fit(std::type_identity<std::tuple<P...>>) {
    constexpr bool rank_and_size = by_rank<std::tuple<P...>, Passed...>;
    constexpr bool count = rank_and_size || sizeof...(P) == sizeof...(Passed);
    static_assert(count,
                  "sinew: a ring's function takes (RingMember&), (int rank, int size) or nothing; "
                  "init takes also what is passed after the options");
    if constexpr (rank_and_size) return true;
    else if constexpr (count) {
        if constexpr ((argument_fits<F, P, Passed>() && ...)) {
            constexpr bool callable =
                takes_member<F, P...> || std::is_invocable_v<typename Callable<F>::Type&, P...>;
            static_assert(
                callable,
                "sinew: a ring's function cannot be called with arguments of these types");
            return callable;
        }
    }
    return false;
}

template <class F, class... Passed>
consteval bool ring_callable() {
    constexpr bool pointer =
        std::is_pointer_v<F> || std::is_member_pointer_v<F> || std::is_function_v<F>;
    static_assert(
        pointer || !captures<F>,
        "sinew: a ring's lambdas must not capture: pass data as arguments of init, or use "
        "a serialisable function object");
    static_assert(!pointer,
                  "sinew: functions mean nothing in another process by their address: name them at "
                  "compile time, as sinew::task<function>");
    if constexpr (!captures<F> && !pointer)
        return ring_arguments_fit<F, Passed...>(
            std::type_identity<typename RingParameters<F, Passed...>::Rest>());
    return false;
}

/// As Call, for functions of a ring's members.
template <class F, class... Passed>
struct RingCall
    : std::conditional_t<ring_callable<F, Passed...>(),
                         TypedRingCall<F, typename RingParameters<F, Passed...>::Rest, Passed...>,
                         NoCall> {};

}  // namespace sinew::detail
