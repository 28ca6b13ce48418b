// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>

#include <sinew/detail/encoder.hpp>

namespace sinew::detail {

template <class T>
T decode_plain(Reader& reader) {
    if constexpr (std::is_default_constructible_v<T>) {
        T value;
        reader.read(std::addressof(value), sizeof value);
        return value;
    } else {
        std::array<std::byte, sizeof(T)> bytes;
        reader.read(bytes.data(), bytes.size());
        return std::bit_cast<T>(bytes);
    }
}

/// Decodes one value with all its parts.
class Decoder {
public:
    explicit Decoder(Reader& reader) : reader_(reader) {}

    template <class T>
    T get() {
        constexpr Encoding how = must_be_encodable<T>();
        if constexpr (how == Encoding::custom) return T::decode_from(reader_);
        else if constexpr (how == Encoding::flag) return get_flag();
        else if constexpr (how == Encoding::plain) return decode_plain<T>(reader_);
        else if constexpr (how == Encoding::container) return get_container<T>();
        else if constexpr (how == Encoding::product) return get_product(std::type_identity<T>());
        else if constexpr (how == Encoding::optional)
            return get_flag() ? T(get<typename T::value_type>()) : T();
        else if constexpr (how == Encoding::variant)
            return get_variant<T>(std::make_index_sequence<std::variant_size_v<T>>());
        else if constexpr (how == Encoding::cereal && !std::is_default_constructible_v<T>) {
            std::unique_ptr<T> const value(cereal::access::construct<T>());  // may be private
            get_into(*value);
            return std::move(*value);
        } else if constexpr (how == Encoding::cereal || how == Encoding::array) {
            T value = T();
            get_into(value);
            return value;
        }
    }

    template <class T>
    void get_into(T& value) {
        constexpr Encoding how = must_be_encodable<T>();
        if constexpr (how == Encoding::plain) {
            reader_.read(std::addressof(value), sizeof value);
        } else if constexpr (how == Encoding::array) {
            for (auto& element : value) get_into(element);
        } else if constexpr (how == Encoding::cereal) {
            if (!archive_) archive_.emplace(*this, reader_);
            archive_->InArchive::Base::operator()(value);
        } else if constexpr (how != Encoding::address && how != Encoding::unsupported) {
            value = get<T>();
        }
    }

private:
    bool get_flag() {
        auto const flag = decode_plain<std::uint8_t>(reader_);
        if (flag > 1) throw DecodeError("cannot decode a bool (its byte is neither 0 nor 1)");
        return flag == 1;
    }
    template <class C>
    C get_container() {
        constexpr std::size_t least = least_size<Held<C>>();
        std::size_t const count = reader_.count(least), before = reader_.left();
        C container;
        if constexpr (in_a_row<C> && std::is_default_constructible_v<Held<C>>) {
            container.resize(count);
            reader_.read(container.data(), count * least);
        } else {
            if constexpr (requires { container.reserve(count); }) container.reserve(count);
            for (std::size_t i = 0; i < count; ++i) {
                if constexpr (requires { container.emplace_back(get<Held<C>>()); })
                    container.emplace_back(get<Held<C>>());
                else container.emplace_hint(container.end(), get<Held<C>>());
            }
            std::size_t const taken = before - reader_.left();
            if (taken < count * least) reader_.take(count * least - taken);
        }
        return container;
    }
    template <class A, class B>
    std::pair<A, B> get_product(std::type_identity<std::pair<A, B>>) {
        return std::pair<A, B>{get<A>(), get<B>()};
    }
    template <class... T>
    std::tuple<T...> get_product(std::type_identity<std::tuple<T...>>) {
        return std::tuple<T...>{get<T>()...};  // braces: evaluation in this order
    }
    template <class V, std::size_t... I>
    V get_variant(std::index_sequence<I...>) {
        auto const index = decode_plain<std::uint16_t>(reader_);
        std::optional<V> value;
        auto const take = [&]<std::size_t N>(std::integral_constant<std::size_t, N> which) {
            if (index == N)
                value.emplace(std::in_place_index<N>, get<std::variant_alternative_t<N, V>>());
            return index == which;
        };
        if (!(take(std::integral_constant<std::size_t, I>()) || ...))
            throw DecodeError("cannot decode a std::variant (it has no such alternative)");
        return std::move(*value);
    }

    Reader& reader_;
    std::optional<InArchive> archive_;
};

template <class T>
void InArchive::get(T& value) {
    if constexpr (encoding_of<T>() == Encoding::cereal || encoding_of<T>() == Encoding::unsupported)
        Base::operator()(value);
    else decoder_.get_into(value);
}

}  // namespace sinew::detail
