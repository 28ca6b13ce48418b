// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cereal/cereal.hpp>

#include <sinew/detail/encoding_kind.hpp>

namespace sinew::detail {

class Encoder;
class Decoder;

/// The archive that cereal's functions of a type write to. Values that the encoder handles itself
/// (containers, types that encode themselves, plain bytes) are passed back to it, all others to
/// cereal.
class OutArchive : public cereal::OutputArchive<OutArchive, cereal::AllowEmptyClassElision> {
public:
    using Base = cereal::OutputArchive<OutArchive, cereal::AllowEmptyClassElision>;
    OutArchive(Encoder& encoder, Writer& writer) : Base(this), encoder_(encoder), writer_(writer) {}
    template <class... T>
    OutArchive& operator()(T&&... values) {
        (put(values), ...);
        return *this;
    }
    template <class T>
    OutArchive& operator&(T&& value) {
        return (*this)(value);
    }
    template <class T>
    OutArchive& operator<<(T&& value) {
        return (*this)(value);
    }
    Writer& writer() { return writer_; }

private:
    template <class T>
    void put(T const& value);
    Encoder& encoder_;
    Writer& writer_;
};

/// The archive that cereal's functions read from. The number of elements is checked before cereal
/// allocates memory for them.
class InArchive : public cereal::InputArchive<InArchive, cereal::AllowEmptyClassElision> {
public:
    using Base = cereal::InputArchive<InArchive, cereal::AllowEmptyClassElision>;
    InArchive(Decoder& decoder, Reader& reader) : Base(this), decoder_(decoder), reader_(reader) {}
    template <class... T>
    InArchive& operator()(T&&... values) {
        (get(values), ...);
        return *this;
    }
    template <class T>
    InArchive& operator&(T&& value) {
        return (*this)(value);
    }
    template <class T>
    InArchive& operator>>(T&& value) {
        return (*this)(value);
    }
    Reader& reader() { return reader_; }

private:
    template <class T>
    void get(T& value);
    Decoder& decoder_;
    Reader& reader_;
};

// Functions for cereal's wrapper types and for values that cereal's own functions pass on.
template <class T>
requires std::is_arithmetic_v<T>
void CEREAL_SAVE_FUNCTION_NAME(OutArchive& archive, T const& value) { archive(value); }
template <class T>
requires std::is_arithmetic_v<T>
void CEREAL_LOAD_FUNCTION_NAME(InArchive& archive, T& value) { archive(value); }
template <class Archive, class T>
requires std::is_same_v<Archive, OutArchive> || std::is_same_v<Archive, InArchive>
void CEREAL_SERIALIZE_FUNCTION_NAME(Archive& archive, cereal::NameValuePair<T>& named) {
    archive(named.value);
}
template <class T>
void CEREAL_SAVE_FUNCTION_NAME(OutArchive& archive, cereal::SizeTag<T> const& tag) {
    archive(static_cast<std::uint64_t>(tag.size));
}
template <class T>
void CEREAL_LOAD_FUNCTION_NAME(InArchive& archive, cereal::SizeTag<T>& tag) {
    tag.size = archive.reader().count();
}
template <class T>
void CEREAL_SAVE_FUNCTION_NAME(OutArchive& archive, cereal::BinaryData<T> const& data) {
    archive.writer().write(data.data, data.size);
}
template <class T>
void CEREAL_LOAD_FUNCTION_NAME(InArchive& archive, cereal::BinaryData<T>& data) {
    archive.reader().read(data.data, data.size);
}

// These types are trivially copyable, but refer to other objects.
template <class T>
inline constexpr Encoding std_encoding<cereal::BinaryData<T>> = Encoding::cereal;
template <class T>
inline constexpr Encoding std_encoding<cereal::base_class<T>> = Encoding::cereal;
template <class T>
inline constexpr Encoding std_encoding<cereal::virtual_base_class<T>> = Encoding::cereal;

template <class T>
concept CerealMembers = cereal::traits::has_member_serialize<T, OutArchive>::value ||
    cereal::traits::has_member_versioned_serialize<T, OutArchive>::value ||
    cereal::traits::has_member_save<T, OutArchive>::value ||
    cereal::traits::has_member_versioned_save<T, OutArchive>::value ||
    cereal::traits::has_member_save_minimal<T, OutArchive>::value ||
    cereal::traits::has_member_versioned_save_minimal<T, OutArchive>::value;

/// Types that are encoded by their bytes. Classes with reference members, which are not assignable,
/// are excluded.
template <class T>
concept PlainBytes = std::is_trivially_copyable_v<T> && std::is_move_assignable_v<T>;

template <class T>
consteval Encoding encoding_of() {
    if constexpr (EncodesItself<T>) return Encoding::custom;
    else if constexpr (std::is_same_v<T, bool>) return Encoding::flag;
    else if constexpr (std_encoding<T> == Encoding::array) {
        using Of = std::remove_cvref_t<decltype(*std::begin(std::declval<T&>()))>;
        return encoding_of<Of>() == Encoding::plain ? Encoding::plain : Encoding::array;
    } else if constexpr (std_encoding<T> != Encoding::unsupported) return std_encoding<T>;
    else if constexpr (!std::is_class_v<T>)
        return PlainBytes<T> ? Encoding::plain : Encoding::unsupported;
    else if constexpr (CerealMembers<T>) return Encoding::cereal;
    else if constexpr (PlainBytes<T>) return Encoding::plain;
    else
        return cereal::traits::is_output_serializable<T, OutArchive>::value &&
                       cereal::traits::is_input_serializable<T, InArchive>::value
                   ? Encoding::cereal
                   : Encoding::unsupported;
}

}  // namespace sinew::detail

CEREAL_REGISTER_ARCHIVE(sinew::detail::OutArchive)
CEREAL_REGISTER_ARCHIVE(sinew::detail::InArchive)
CEREAL_SETUP_ARCHIVE_TRAITS(sinew::detail::InArchive, sinew::detail::OutArchive)
