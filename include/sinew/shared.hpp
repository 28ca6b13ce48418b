// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <utility>

#include <sinew/encoding.hpp>

namespace sinew {
namespace detail {

/// What the handles of one shared object have in common in one process.
class SharedObject {
public:
    using Decode = std::shared_ptr<void const> (*)(Reader& reader);
    virtual ~SharedObject() = default;
    /// Decoded by whoever asks first.
    virtual void const* value(Decode decode) = 0;
    virtual void encode_to(Writer& writer) const = 0;
};

std::shared_ptr<SharedObject> share_bytes(Writer const& bytes);
std::shared_ptr<SharedObject> find_shared(Reader& reader);

}  // namespace detail

/// A value that many processes read and none changes: weights, tables, a data set. Encoded once, into
/// memory that the processes of a host share; another host fetches it once for each of its processes
/// that asks. A process decodes it when it first asks, and keeps it as long as it has a handle.
///
/// Objects of this class are handles: copies mean the same value, and travel. It lives as long as the
/// process that shared it has a handle; who asks for the first time later gets an error: PeerLost
/// where that process is gone, Unavailable where it has let go.
template <class T>
class Shared {
public:
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

template <class T>
Shared<T> share(T const& value) {
    Writer writer;
    encode(writer, value);
    return Shared<T>(detail::share_bytes(writer));
}

}  // namespace sinew
