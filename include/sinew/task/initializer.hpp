// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <utility>

#include <sinew/detail/call.hpp>

namespace sinew {

/// A function, with its arguments, that a process calls before anything else: `.initializer =
/// sinew::initializer<load>(path)`.
class Initializer {
public:
    Initializer() = default;
    Initializer(detail::TaskEntry const& entry, Writer arguments)
        : entry_(&entry),
          arguments_(reinterpret_cast<char const*>(arguments.bytes().data()), arguments.size()) {}
    detail::TaskEntry const* entry() const { return entry_; }
    std::string const& arguments() const { return arguments_; }

private:
    detail::TaskEntry const* entry_ = nullptr;
    std::string arguments_;
};

/// Makes an Initializer that calls F with copies of the arguments. Throws UsageError if they cannot
/// be encoded.
template <auto F, class... Passed>
Initializer initializer(Passed const&... arguments) {
    using Call = detail::Call<Task<F>, Passed...>;
    Writer writer;
    Call::encode_arguments(writer, arguments...);
    return {Call::entry(), std::move(writer)};
}

}  // namespace sinew
