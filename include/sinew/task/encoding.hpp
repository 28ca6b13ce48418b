// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sinew/detail/decoder.hpp>
#include <sinew/detail/encoder.hpp>

namespace sinew {

/// Encodes a value so that `decode<T>` restores it in another process of the same program.
///
/// The first rule that applies is used:
/// - Types with encode_to and decode_from (see codec.hpp): by these.
/// - Pairs, tuples, arrays, std::optional, std::variant, strings and standard containers: by their
///   elements.
/// - Classes with cereal's members (serialize, or save and load): by these.
/// - Trivially copyable types: by their bytes.
/// - All other types that cereal can write (free functions; std::unique_ptr with
///   <cereal/types/memory.hpp>): as cereal does.
///
/// Objects that several std::shared_ptr of one value share are shared again after decoding.
/// Pointers and views do not compile; within a class that is copied by its bytes they are not
/// detected and must be avoided. Throws UsageError for a polymorphic type that cereal does not
/// know.
template <class T>
void encode(Writer& writer, T const& value) {
    if constexpr (detail::must_be_encodable<T>() == detail::Encoding::plain) {
        writer.write(std::addressof(value), sizeof value);
    } else {
        try {
            detail::Encoder(writer).put(value);
        } catch (cereal::Exception const& error) {  // an unknown polymorphic type
            throw UsageError(std::string("cannot encode a value: ") + error.what());
        }
    }
}

/// Decodes a value. Throws DecodeError. Allocates at most a small multiple of the remaining bytes,
/// since elements take at least one byte each.
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
