// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sinew/detail/decoder.hpp>
#include <sinew/detail/encoder.hpp>

namespace sinew {

/// Writes a value so that `decode<T>` gives it back in another process of the same program.
///
/// In this order: types with encode_to and decode_from (see codec.hpp) by these; pairs, tuples,
/// arrays, std::optional, std::variant, strings and containers of the standard library by their
/// elements, whatever travels by itself; classes with cereal's members (serialize, or save and
/// load) by these; what is trivially copyable by its bytes; everything else that cereal can write
/// (free functions; std::unique_ptr with <cereal/types/memory.hpp>) as cereal does. Objects shared
/// by several std::shared_ptr of one value are one object again. Pointers and views do not compile;
/// within a class that is copied by its bytes nobody sees them: do not.
template <class T>
void encode(Writer& writer, T const& value) {
    if constexpr (detail::must_be_encodable<T>() == detail::Encoding::plain) {
        writer.write(std::addressof(value), sizeof value);
    } else {
        try {
            detail::Encoder(writer).put(value);
        } catch (cereal::Exception const& error) {  // a polymorphic type that it does not know
            throw UsageError(std::string("cannot encode a value: ") + error.what());
        }
    }
}

/// Takes a value from the reader; throws DecodeError. No more memory is asked for than a small
/// multiple of the bytes that are left: elements take at least one byte each.
template <class T>
T decode(Reader& reader) {
    if constexpr (detail::must_be_encodable<T>() == detail::Encoding::plain) {
        return detail::decode_plain<T>(reader);
    } else {
        try {
            return detail::Decoder(reader).get<T>();
        } catch (cereal::Exception const& error) {
            throw DecodeError(std::string("cannot decode a value: ") + error.what());
        }
    }
}

}  // namespace sinew
