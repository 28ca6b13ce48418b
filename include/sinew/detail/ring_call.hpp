// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
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

/// How a ring's function is called with arguments of types P.
enum class RingShape : std::uint8_t { member, rank_and_size, arguments, none };

template <class F, class... P>
consteval RingShape ring_shape() {
    using Type = typename Callable<F>::Type;
    if (std::is_invocable_v<Type&, RingMember&, P...>) return RingShape::member;
    if (std::is_invocable_v<Type&, P...>) return RingShape::arguments;
    return RingShape::none;
}

template <class F>
struct RingFunction {
    static void encode_function([[maybe_unused]] Writer& writer,
                                [[maybe_unused]] F const& function) {
        if constexpr (!stateless<F>) encode(writer, function);
    }
    static std::shared_ptr<void> make([[maybe_unused]] Reader& reader) {
        if constexpr (stateless<F> || !Encodable<F>) return nullptr;
        else return std::make_shared<F>(decode<F>(reader));
    }
};

template <class F, class Rest, class... Passed>
struct TypedRingCall;
/// A function of (int rank, int size), as in Fiber.
template <class F>
struct TypedRingCall<F, std::tuple<int, int>> : RingFunction<F> {
    static TaskEntry const& entry() { return entry_; }
    static void encode_arguments(Writer&) {}

private:
    static void run(void* invocation, Reader&, Writer&) {
        auto& with = *static_cast<RingInvocation*>(invocation);
        std::invoke(Callable<F>::of(with.function), with.member.rank(), with.member.size());
    }
    static inline TaskEntry const entry_{&run, stateless<F> ? nullptr : &RingFunction<F>::make,
                                         typeid(F).name(), meta_for<F>()};
};
template <class F, class... P, class... Passed>
struct TypedRingCall<F, std::tuple<P...>, Passed...> : RingFunction<F> {
    static TaskEntry const& entry() { return entry_; }
    static void encode_arguments([[maybe_unused]] Writer& writer, Passed const&... passed) {
        (encode<std::remove_cvref_t<P>>(writer, static_cast<std::remove_cvref_t<P>>(passed)), ...);
    }

private:
    using Arguments = std::tuple<std::remove_cvref_t<P>...>;
    static Arguments decode_arguments([[maybe_unused]] Reader& reader) {
        if constexpr (sizeof...(P) == 0) {
            return {};
        } else {
            try {  // braces: evaluation in this order
                return Arguments{decode<std::remove_cvref_t<P>>(reader)...};
            } catch (...) {
                refuse_arguments();
            }
        }
    }
    static void run(void* invocation, Reader& reader, Writer&) {
        auto& with = *static_cast<RingInvocation*>(invocation);
        Arguments arguments = decode_arguments(reader);
        auto const call = [&with](auto&... values) {
            if constexpr (ring_shape<F, P...>() == RingShape::member)
                std::invoke(Callable<F>::of(with.function), with.member,
                            static_cast<P&&>(values)...);
            else std::invoke(Callable<F>::of(with.function), static_cast<P&&>(values)...);
        };
        std::apply(call, arguments);
    }
    static inline TaskEntry const entry_{&run, stateless<F> ? nullptr : &RingFunction<F>::make,
                                         typeid(F).name(), meta_for<F>()};
};

template <class F, class... Passed, class... P>
consteval bool ring_arguments_fit(std::type_identity<std::tuple<P...>>) {
    constexpr bool rank_and_size =
        sizeof...(Passed) == 0 && std::is_same_v<std::tuple<P...>, std::tuple<int, int>>;
    constexpr bool count = rank_and_size || sizeof...(P) == sizeof...(Passed);
    static_assert(count,
                  "sinew: a ring's function takes (RingMember&), (int rank, int size) or nothing; "
                  "init takes also what is passed after the options");
    if constexpr (rank_and_size) return true;
    else if constexpr (count) {
        if constexpr ((argument_fits<F, P, Passed>() && ...)) {
            constexpr bool callable = ring_shape<F, P...>() != RingShape::none;
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
