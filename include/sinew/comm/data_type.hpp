// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <complex>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>

#include <sinew/comm/float16.hpp>

namespace sinew {

/// A value and its index: the element type of `minloc` and `maxloc` (MPI 4.0, 6.9.4). The layout is
/// that of MPI's pair types (MPI_FLOAT_INT, MPI_DOUBLE_INT, MPI_2INT, MPI_LONG_INT).
template <class Value>
struct ValueIndex {
    Value value{};
    std::int32_t index = 0;
    friend bool operator==(ValueIndex const&, ValueIndex const&) = default;
};

/// The type of a buffer's elements. `opaque` is any trivially copyable struct of `size()` bytes; it
/// can be moved, and reduced only by a user-defined operation on the same type.
class DataType {
public:
    enum class Kind : std::uint8_t {
        f16,
        bf16,
        f32,
        f64,
        c64,
        c128,  // c64, c128: complex<float>, complex<double>
        i8,
        i16,
        i32,
        i64,
        u8,
        u16,
        u32,
        u64,
        f32_index,
        f64_index,
        i32_index,
        i64_index,
        opaque,
    };
    static constexpr int kinds = static_cast<int>(Kind::opaque) + 1;

    constexpr DataType(Kind kind) : kind_(kind), size_(size_of(kind)) {}
    static constexpr DataType opaque(std::uint32_t size) { return {Kind::opaque, size}; }

    constexpr Kind kind() const { return kind_; }
    /// Size of one element in bytes.
    constexpr std::size_t size() const { return size_; }
    /// The name: "f32", "c64", "i32_index", "opaque(24)".
    std::string name() const;

    constexpr bool is_16_bit_float() const { return kind_ == Kind::f16 || kind_ == Kind::bf16; }
    constexpr bool is_complex() const { return kind_ == Kind::c64 || kind_ == Kind::c128; }
    /// f16, bf16, f32, f64 and the complex types: types whose sums depend on the order.
    constexpr bool is_floating() const { return kind_ <= Kind::c128; }
    constexpr bool is_integer() const { return kind_ >= Kind::i8 && kind_ <= Kind::u64; }
    constexpr bool is_indexed() const {
        return kind_ >= Kind::f32_index && kind_ <= Kind::i64_index;
    }

    friend constexpr bool operator==(DataType, DataType) = default;

private:
    constexpr DataType(Kind kind, std::uint32_t size) : kind_(kind), size_(size) {}
    static constexpr std::uint32_t size_of(Kind kind) {
        constexpr std::uint32_t sizes[] = {2, 2, 4, 8, 8, 16, 1, 2,  4, 8,
                                           1, 2, 4, 8, 8, 16, 8, 16, 0};
        return sizes[static_cast<int>(kind)];
    }

    Kind kind_;
    std::uint32_t size_;
};

/// The type with the given name, such as "f32". Throws UsageError, which lists the names, if there
/// is none.
DataType parse_data_type(std::string const& name);

/// Element types of buffers: trivially copyable object types. Pointers are excluded, since they
/// have no meaning in another process.
template <class T>
concept Element = std::is_trivially_copyable_v<T> && !std::is_pointer_v<T> && !std::is_const_v<T>;

template <Element T>
constexpr DataType data_type_of() {
    using Kind = DataType::Kind;
    if constexpr (std::same_as<T, float16>) return Kind::f16;
    else if constexpr (std::same_as<T, bfloat16>) return Kind::bf16;
    else if constexpr (std::same_as<T, float>) return Kind::f32;
    else if constexpr (std::same_as<T, double>) return Kind::f64;
    else if constexpr (std::same_as<T, std::complex<float>>) return Kind::c64;
    else if constexpr (std::same_as<T, std::complex<double>>) return Kind::c128;
    else if constexpr (std::same_as<T, ValueIndex<float>>) return Kind::f32_index;
    else if constexpr (std::same_as<T, ValueIndex<double>>) return Kind::f64_index;
    else if constexpr (std::same_as<T, ValueIndex<std::int32_t>>) return Kind::i32_index;
    else if constexpr (std::same_as<T, ValueIndex<std::int64_t>>) return Kind::i64_index;
    else if constexpr (std::integral<T> && !std::same_as<T, bool>) {
        constexpr Kind kinds[2][4] = {{Kind::u8, Kind::u16, Kind::u32, Kind::u64},
                                      {Kind::i8, Kind::i16, Kind::i32, Kind::i64}};
        constexpr int width = sizeof(T) == 1 ? 0 : sizeof(T) == 2 ? 1 : sizeof(T) == 4 ? 2 : 3;
        return kinds[std::is_signed_v<T>][width];
    } else return DataType::opaque(sizeof(T));
}

}  // namespace sinew
