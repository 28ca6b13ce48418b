// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <cstdint>
#include <type_traits>

#include <sinew/detail/signature.hpp>

namespace sinew::detail {

/// Where a function lies in the module (executable or library) that holds it: the same in every process of the
/// program; see TaskId. Throws UsageError where no module with tasks holds it.
std::uint64_t place_of_function(void (*function)());
/// Throws DecodeError where there is no code of such a module.
void (*function_at(std::uint64_t place))();

/// A function that is passed by its name, `pool.map(f, xs)`: which one it is only shows when the program runs,
/// so that its place travels as the state of a function object.
template <class Pointer>
class PlainFunction {
public:
    PlainFunction(Pointer function) : function_(function) {}

    template <class... A>
    requires std::is_invocable_v<Pointer, A...>
    decltype(auto) operator()(A&&... arguments) const {
        return function_(static_cast<A&&>(arguments)...);
    }
    void encode_to(Writer& writer) const {
        auto const place = place_of_function(reinterpret_cast<void (*)()>(function_));
        writer.write(&place, sizeof place);
    }
    static PlainFunction decode_from(Reader& reader) {
        std::uint64_t place = 0;
        reader.read(&place, sizeof place);
        return reinterpret_cast<Pointer>(function_at(place));
    }

private:
    Pointer function_;
};

template <class Pointer>
struct Signature<PlainFunction<Pointer>> : Signature<Pointer> {};

/// What is called where F is passed: PlainFunction for functions and pointers to them, else F itself.
template <class F>
struct TargetOf {
    using type = F;
};
template <class F>
requires std::is_function_v<std::remove_pointer_t<F>>
struct TargetOf<F> {
    using type = PlainFunction<std::decay_t<F>>;
};
template <class F>
using Target = typename TargetOf<F>::type;

}  // namespace sinew::detail
