// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <memory>

#include <sinew/task/archive.hpp>

namespace sinew::detail {

template <class T>
concept Encodable = encoding_of<T>()
!= Encoding::address&& encoding_of<T>() != Encoding::unsupported;

/// Fails to compile, once for each type, if values of T cannot be sent to another process.
template <class T>
consteval Encoding must_be_encodable() {
    constexpr Encoding how = encoding_of<T>();
    static_assert(how != Encoding::address,
                  "sinew: pointers, references and views mean nothing in another process: pass "
                  "values (std::string, std::vector, your own types)");
    static_assert(how != Encoding::unsupported,
                  "sinew: this type cannot travel to another process: give it a serialize() member "
                  "for cereal (github.com/USCiLab/cereal), or make it trivially copyable; for "
                  "std::unique_ptr and std::shared_ptr include <cereal/types/memory.hpp>");
    return how;
}

/// The minimum encoded size of a T in bytes; at least 1, so that elements of containers take space.
template <class T>
consteval std::size_t least_size();
template <class T>
consteval std::size_t least_sum(std::type_identity<T>) {
    return 0;
}
template <class A, class B>
consteval std::size_t least_sum(std::type_identity<std::pair<A, B>>) {
    return least_size<A>() + least_size<B>();
}
template <class... T>
consteval std::size_t least_sum(std::type_identity<std::tuple<T...>>) {
    return (std::size_t{0} + ... + least_size<T>());
}
template <class T>
consteval std::size_t least_size() {
    constexpr Encoding how = encoding_of<T>();
    if (how == Encoding::plain) return sizeof(T);
    if (how == Encoding::container) return sizeof(std::uint64_t);
    if (how == Encoding::variant) return sizeof(std::uint16_t);
    return std::max<std::size_t>(1, least_sum(std::type_identity<T>()));
}

/// Whether the container's elements are contiguous and encoded by their bytes.
template <class C>
inline constexpr bool in_a_row = requires(C& c) {
    c.data();
}
&&encoding_of<Held<C>>() == Encoding::plain;

/// Encodes one value with all its parts.
class Encoder {
public:
    explicit Encoder(Writer& writer) : writer_(writer) {}

    template <class T>
    void put(T const& value) {
        constexpr Encoding how = must_be_encodable<T>();
        if constexpr (how == Encoding::custom) {
            value.encode_to(writer_);
        } else if constexpr (how == Encoding::flag || how == Encoding::plain) {
            writer_.write(std::addressof(value), sizeof value);
        } else if constexpr (how == Encoding::array) {
            for (auto const& element : value) put(element);
        } else if constexpr (how == Encoding::container) {
            put_container(value);
        } else if constexpr (how == Encoding::product) {
            std::apply([this](auto const&... members) { (this->put(members), ...); }, value);
        } else if constexpr (how == Encoding::optional) {
            put(value.has_value());
            if (value) put(*value);
        } else if constexpr (how == Encoding::variant) {
            put_variant(value);
        } else if constexpr (how == Encoding::cereal) {
            if (!archive_) archive_.emplace(*this, writer_);
            archive_->OutArchive::Base::operator()(value);
        }
    }

private:
    template <class C>
    void put_container(C const& container) {
        auto const count = static_cast<std::uint64_t>(container.size());
        put(count);
        if constexpr (in_a_row<C>) {
            writer_.write(container.data(), count * sizeof(Held<C>));
        } else {
            std::size_t const begin = writer_.size();
            for (auto const& element : container) put(element);
            // Pads elements that write fewer bytes: the decoder requires that elements take space.
            std::size_t const least = count * least_size<Held<C>>();
            for (std::byte const padding{}; writer_.size() - begin < least;)
                writer_.write(&padding, 1);
        }
    }
    template <class... T>
    void put_variant(std::variant<T...> const& value) {
        if (value.valueless_by_exception())
            throw UsageError("cannot encode a std::variant without a value (an assignment threw)");
        put(static_cast<std::uint16_t>(value.index()));
        std::visit([this](auto const& alternative) { this->put(alternative); }, value);
    }

    Writer& writer_;
    std::optional<OutArchive> archive_;  ///< shared by all parts: it tracks shared objects
};

template <class T>
void OutArchive::put(T const& value) {
    if constexpr (encoding_of<T>() == Encoding::cereal || encoding_of<T>() == Encoding::unsupported)
        Base::operator()(value);
    else encoder_.put(value);
}

}  // namespace sinew::detail
