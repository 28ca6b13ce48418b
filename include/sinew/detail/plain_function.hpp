// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <type_traits>

#include <sinew/detail/signature.hpp>

namespace sinew::detail {

/// The position of a function in the module (executable or library) that contains it, which is the
/// same in every process of the program; see TaskId. Throws UsageError if no module with tasks
/// contains it.
std::uint64_t place_of_function(void (*function)());
/// The function at that position. Throws DecodeError if such a module has no code there.
void (*function_at(std::uint64_t place))();

/// A function passed by its name, `pool.map(f, xs)`. Which function it is is known only at run
/// time, so its position is encoded as the state of a function object.
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

/// The type that is called if F is passed: PlainFunction for functions and pointers to them,
/// otherwise F.
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
