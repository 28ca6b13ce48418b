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
// std::out_of_range.
[[noreturn]] void refuse_index(char const* what, std::size_t index, std::size_t size);
[[noreturn]] void refuse_slice(char const* what, std::size_t first, std::size_t count,
                               std::size_t size);
[[noreturn]] void refuse_key(std::size_t size);
}  // namespace sinew::detail

/// Lists, dictionaries, locks and the like that live in a manager: Manager::list(), Manager::lock()...
///
/// Handles, like those of any object: copies mean the same thing, travel, may be shared by threads, and
/// keep it alive. All throw ObjectLost when the manager is gone. Each has a twin whose methods return a
/// Reply at once (List and AsyncList): what an AsyncManager gives, and async() of the other.
namespace sinew::managed {

/// What handles of such things have in common. `Kept`: what the manager holds.
template <class Derived, class Kept>
class Handle {
public:
    /// As those of Object.
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

/// How methods of a handle give what they give: when it is there, or as a Reply.
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
