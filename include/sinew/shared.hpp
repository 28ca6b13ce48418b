// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <type_traits>
#include <utility>

#include <sinew/task/encoding.hpp>

namespace sinew {
namespace detail {

/// The state that all handles of one shared object have in common in a process.
class SharedObject {
public:
    using Decode = std::shared_ptr<void const> (*)(Reader& reader);
    virtual ~SharedObject() = default;
    /// The value; the first caller decodes it.
    virtual void const* value(Decode decode) = 0;
    /// The encoded bytes, in place; valid as long as this object.
    virtual std::span<std::byte const> bytes() = 0;
    virtual void encode_to(Writer& writer) const = 0;
};

std::shared_ptr<SharedObject> share_bytes(std::span<std::byte const> bytes);
std::shared_ptr<SharedObject> find_shared(Reader& reader);

}  // namespace detail

/// A value that many processes read and none changes: weights, tables, a data set. It is encoded
/// once, into memory that all processes of a host share; another host fetches it once for all its
/// processes. Each process decodes a copy on its first access and keeps it while it has a handle.
/// Elements shared as a span are neither decoded nor copied: see Shared<T[]>.
///
/// Objects of this class are handles: copies refer to the same value and can be sent to other
/// processes. The value lives as long as the process that shared it has a handle. A process whose
/// first access comes later gets an error: PeerLost if the sharing process is gone, Unavailable if
/// it has released the value. The memory is a file without a name, so the kernel frees it when the
/// processes that use it have ended. With SINEW_TMPDIR the file lies in that folder instead of in
/// memory.
template <class T>
class Shared {
public:
    /// Returns the value, decoded on the first call; valid while this process has a handle. Throws
    /// PeerLost or Unavailable (see above), or DecodeError. Thread-safe.
    T const& get() const { return *static_cast<T const*>(object_->value(decoded)); }
    T const& operator*() const { return get(); }
    T const* operator->() const { return &get(); }

    void encode_to(Writer& writer) const { object_->encode_to(writer); }
    static Shared decode_from(Reader& reader) { return Shared(detail::find_shared(reader)); }

private:
    template <class Value>
    friend Shared<Value> share(Value const& value);
    explicit Shared(std::shared_ptr<detail::SharedObject> object) : object_(std::move(object)) {}
    static std::shared_ptr<void const> decoded(Reader& reader) {
        return std::make_shared<T const>(decode<T>(reader));
    }
    std::shared_ptr<detail::SharedObject> object_;
};

/// Contiguous elements, copied by their bytes. All processes of a host read the same memory, which
/// none of them can write.
///
///     std::vector<float> const noise = draw();
///     sinew::Shared<float[]> const table = sinew::share(std::span(noise));
///     pool.starmap(f, inputs_with(table));  // f(table, i) reads table.get()[i]
template <class T>
class Shared<T[]> {
    static_assert(
        detail::must_be_encodable<T>() == detail::Encoding::plain,
        "sinew: elements of a shared span are not decoded: they must be trivially copyable, "
        "without pointers. Share a std::vector of them instead");
    static_assert(alignof(T) <= alignof(std::max_align_t),
                  "sinew: elements of a shared span must not be over-aligned");

public:
    /// Returns the elements; valid while this process has a handle. Throws PeerLost or Unavailable,
    /// see Shared. Thread-safe.
    std::span<T const> get() const {
        auto const bytes = object_->bytes();
        return {reinterpret_cast<T const*>(bytes.data()), bytes.size() / sizeof(T)};
    }
    std::span<T const> operator*() const { return get(); }

    void encode_to(Writer& writer) const { object_->encode_to(writer); }
    static Shared decode_from(Reader& reader) { return Shared(detail::find_shared(reader)); }

private:
    template <class Value, std::size_t N>
    friend Shared<std::remove_const_t<Value>[]> share(std::span<Value, N> values);
    explicit Shared(std::shared_ptr<detail::SharedObject> object) : object_(std::move(object)) {}
    std::shared_ptr<detail::SharedObject> object_;
};

/// Copies a value, or the elements of a span, into shared memory. Throws SystemError if there is
/// not enough.
template <class T>
Shared<T> share(T const& value) {
    Writer writer;
    encode(writer, value);
    return Shared<T>(detail::share_bytes(writer.bytes()));
}
template <class T, std::size_t N>
Shared<std::remove_const_t<T>[]> share(std::span<T, N> values) {
    return Shared<std::remove_const_t<T>[]>(detail::share_bytes(std::as_bytes(values)));
}

}  // namespace sinew
