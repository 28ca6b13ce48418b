// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <concepts>
#include <cstddef>
#include <memory>
#include <string>
#include <utility>

#include <sinew/manager/object.hpp>

namespace sinew::detail {
// Throw std::out_of_range.
[[noreturn]] void refuse_index(char const* what, std::size_t index, std::size_t size);
[[noreturn]] void refuse_slice(char const* what, std::size_t first, std::size_t count,
                               std::size_t size);
[[noreturn]] void refuse_key(std::size_t size);
}  // namespace sinew::detail

/// Ready-made objects that live in a manager: lists, dictionaries, locks and others. They are made
/// by Manager::list(), Manager::lock() and so on.
///
/// Objects of these classes are handles, like Object: copies refer to the same object, can be sent
/// to other processes, and keep it alive. All methods throw ObjectLost if the manager is gone. Each
/// class has an asynchronous form (List and AsyncList) whose methods return a Reply at once: an
/// AsyncManager returns it, and so does async(). Thread-safe, except for refresh().
namespace sinew::managed {

/// Base of the handles. `Kept`: the class of the object in the manager's process.
template <class Derived, class Kept>
class Handle {
public:
    /// See Object for publish, detach, refresh and checkpoint.
    void publish(std::string const& name) const { object_.publish(name); }
    void detach() const { object_.detach(); }
    void refresh(std::chrono::nanoseconds limit = std::chrono::seconds(60)) {
        object_.refresh(limit);
    }
    void checkpoint() const { object_.checkpoint(); }

    void encode_to(Writer& writer) const { object_.encode_to(writer); }
    static Derived decode_from(Reader& reader) {
        return of(detail::find_object(reader, Derived::kept()));
    }
    static Derived of(std::shared_ptr<detail::ObjectEnd> end) {
        return Derived(Object<Kept>(std::move(end)));
    }
    Object<Kept> const& object() const { return object_; }

protected:
    explicit Handle(Object<Kept> object) : object_(std::move(object)) {}

private:
    Object<Kept> object_;
};

template <class T>
concept IsHandle = requires {
    { T::kept() } -> std::same_as<char const*>;
};

/// The result of a handle's methods: the value (Waits), or a Reply (Replies).
struct Waits {
    template <class R>
    using Gives = R;
    template <class R>
    static R of(Reply<R> const& reply) {
        return reply.get();
    }
};
struct Replies {
    template <class R>
    using Gives = Reply<R>;
    template <class R>
    static Reply<R> of(Reply<R> reply) {
        return reply;
    }
};

}  // namespace sinew::managed
