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

/// What the handles of one shared object have in common in one process.
class SharedObject {
public:
    using Decode = std::shared_ptr<void const> (*)(Reader& reader);
    virtual ~SharedObject() = default;
    /// Decoded by whoever asks first.
    virtual void const* value(Decode decode) = 0;
    /// As they were encoded, in place: they hold as long as this object.
    virtual std::span<std::byte const> bytes() = 0;
    virtual void encode_to(Writer& writer) const = 0;
};

std::shared_ptr<SharedObject> share_bytes(std::span<std::byte const> bytes);
std::shared_ptr<SharedObject> find_shared(Reader& reader);

}  // namespace detail

/// A value that many processes read and none changes: weights, tables, a data set. Encoded once, into
/// memory that the processes of a host share; another host fetches it once for all its processes. A
/// process decodes a copy of its own when it first asks, and keeps it as long as it has a handle. Share
/// a span, and nobody decodes or copies: see Shared<T[]>.
///
/// Objects of this class are handles: copies mean the same value, and travel. It lives as long as the
/// process that shared it has a handle; who asks for the first time later gets an error: PeerLost
/// where that process is gone, Unavailable where it has let go. Nothing of it is left when the processes
/// that use it have ended, however they ended: the memory (a file without a name) is the kernel's to free.
/// With SINEW_TMPDIR such a file lies in that folder rather than in memory.
template <class T>
class Shared {
public:
    /// Throws PeerLost, Unavailable (see above), DecodeError.
    /// Threads may share one. The reference holds as long as there is a handle in this process.
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

/// Elements in a row, copied by their bytes: every process of a host reads the same memory, which none can
/// write to.
///
///     std::vector<float> const noise = draw();
///     sinew::Shared<float[]> const table = sinew::share(std::span(noise));   // the one copy of a host
///     pool.starmap(f, inputs_with(table));                                   // f(table, i) reads table.get()[i]
template <class T>
class Shared<T[]> {
    static_assert(
        detail::must_be_encodable<T>() == detail::Encoding::plain,
        "sinew: elements of a shared span are not decoded: they must be trivially copyable, "
        "without pointers. Share a std::vector of them instead");
    static_assert(alignof(T) <= alignof(std::max_align_t),
                  "sinew: elements of a shared span must not be over-aligned");

public:
    /// Threads may share one. The elements hold as long as there is a handle in this process. Throws
    /// PeerLost, Unavailable: see Shared.
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

/// Throws SystemError where there is no memory for it.
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
