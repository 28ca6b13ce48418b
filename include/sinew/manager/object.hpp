// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <memory>
#include <type_traits>
#include <typeinfo>
#include <utility>

#include <sinew/detail/method.hpp>
#include <sinew/manager/reply.hpp>

namespace sinew {
namespace detail {

/// The state that all handles of one object share in a process.
class ObjectEnd {
public:
    virtual ~ObjectEnd() = default;
    /// Sends a call whose arguments are encoded. Throws UsageError when the program is ending; all
    /// other errors are reported by the reply.
    virtual std::shared_ptr<PendingCall> call(TaskEntry const& method, Writer& arguments,
                                              CallKind kind) = 0;
    virtual void oneway(TaskEntry const& method, Writer& arguments) = 0;
    virtual void encode_to(Writer& writer) = 0;
    virtual void publish(std::string const& name) = 0;
    virtual void detach() = 0;
    virtual void checkpoint() = 0;
    /// The same object in the restarted process of its manager; null if this one is not lost.
    virtual std::shared_ptr<ObjectEnd> refreshed(std::chrono::nanoseconds limit) = 0;
};

/// Decodes a handle; the object may live in any process. `type`: the object's type, as
/// typeid(T).name().
std::shared_ptr<ObjectEnd> find_object(Reader& reader, char const* type);

/// An empty buffer of this thread, in which arguments are encoded before they are sent.
Writer& argument_writer();

}  // namespace detail

template <class T>
class Object;
template <class T>
class AsyncObject;

namespace detail {

template <class T>
inline constexpr bool is_handle<Object<T>> = true;
template <class T>
inline constexpr bool is_handle<AsyncObject<T>> = true;

}  // namespace detail

/// A handle of an object of type T in a manager's process.
///
/// Copies refer to the same object; they can be sent in tasks, processes, other managers and
/// members of classes. Any method of T can be called; arguments and results are encoded as those of
/// tasks are (no references to non-const). Thread-safe, except for refresh().
///
/// - Calls of one process on one object are executed one at a time, in the order in which they were
///   made. Calls of different processes are executed in any order, but never at the same time,
///   unless the object was made by Manager::create_parallel. Different objects of a manager may run
///   at the same time.
/// - A method may answer later: see Deferred.
/// - Each call is executed at most once. If the manager dies, calls that were sent and not answered
///   throw ObjectLost with maybe_executed(). If the manager is then restarted, they throw
///   ObjectRestarted, as do all further calls of this handle until refresh().
/// - The object lives as long as a process has a handle of it. A handle that was sent to another
///   process is held by the sending process until that ends.
template <class T>
class Object {
public:
    /// Calls method M and blocks until it returns. Throws what the method threw, or ObjectLost.
    template <auto M, class... Args>
    auto call(Args const&... arguments) const {
        return async<M>(arguments...).get();
    }
    /// Calls method M and returns at once. Calls made in quick succession are sent together. Blocks
    /// only while more than ManagerOptions::max_pending_calls are in flight.
    template <auto M, class... Args>
    auto async(Args const&... arguments) const {
        using Called = detail::Call<detail::Method<T, M>, std::decay_t<Args const>...>;
        auto& writer = detail::argument_writer();
        Called::encode_arguments(writer, arguments...);
        using Result = detail::Answer<typename Called::Result>;
        return Reply<Result>(end_->call(Called::entry(), writer, detail::kind_of<Result>));
    }
    /// Calls method M without a reply. Exceptions are written to the manager's standard error.
    template <auto M, class... Args>
    void oneway(Args const&... arguments) const {
        using Called = detail::Call<detail::Method<T, M>, std::decay_t<Args const>...>;
        auto& writer = detail::argument_writer();
        Called::encode_arguments(writer, arguments...);
        end_->oneway(Called::entry(), writer);
    }

    /// Gives the object a name for Manager::lookup, and lets it live as long as its manager. Throws
    /// UsageError if the name is taken.
    void publish(std::string const& name) const { end_->publish(name); }
    /// Lets the object live as long as its manager, even without handles.
    void detach() const { end_->detach(); }

    /// Saves the object's state (see Checkpointable) in the process that made its manager, in the
    /// order of calls. Returns when the state is kept. Throws UsageError if nothing keeps states.
    void checkpoint() const { end_->checkpoint(); }
    /// After ObjectRestarted, makes this handle refer to the object that was made again, even if
    /// some of its state is lost. Other copies of the handle do not change. Blocks until that
    /// object can be called, for at most `limit`; has no effect if the process has not died. Throws
    /// Timeout, or ObjectLost with the number of restarts and the cause if there are no more
    /// restarts.
    void refresh(std::chrono::nanoseconds limit = std::chrono::seconds(60)) {
        if (auto later = end_->refreshed(limit)) end_ = std::move(later);
    }

    void encode_to(Writer& writer) const { end_->encode_to(writer); }
    static Object decode_from(Reader& reader) {
        return Object(detail::find_object(reader, typeid(T).name()));
    }
    explicit Object(std::shared_ptr<detail::ObjectEnd> end) : end_(std::move(end)) {}
    static char const* type_name() { return typeid(T).name(); }

private:
    std::shared_ptr<detail::ObjectEnd> end_;
};

/// A handle whose calls are asynchronous by default, as proxies of Fiber's AsyncManager. See
/// Object.
template <class T>
class AsyncObject {
public:
    explicit AsyncObject(Object<T> object) : object_(std::move(object)) {}
    explicit AsyncObject(std::shared_ptr<detail::ObjectEnd> end) : object_(std::move(end)) {}
    static char const* type_name() { return typeid(T).name(); }
    /// Calls method M and returns its Reply at once.
    template <auto M, class... Args>
    auto call(Args const&... arguments) const {
        return object_.template async<M>(arguments...);
    }
    template <auto M, class... Args>
    void oneway(Args const&... arguments) const {
        object_.template oneway<M>(arguments...);
    }
    /// See Object::refresh().
    void refresh(std::chrono::nanoseconds limit = std::chrono::seconds(60)) {
        object_.refresh(limit);
    }
    Object<T> const& object() const { return object_; }

    void encode_to(Writer& writer) const { object_.encode_to(writer); }
    static AsyncObject decode_from(Reader& reader) {
        return AsyncObject(Object<T>::decode_from(reader));
    }

private:
    Object<T> object_;
};

namespace detail {

/// The reply of a call that returns a handle; methods of the object can be called before it has
/// arrived.
template <class T, class Handle>
class PendingObject : public ReplyTo<Handle> {
public:
    using ReplyTo<Handle>::ReplyTo;

    /// Calls method M of the object and returns at once. The call is sent immediately. It is
    /// executed after the call that returns the object, in the order of such calls, and before all
    /// calls made through the handle itself. If that call fails, this one is not executed and fails
    /// with the same exception.
    template <auto M, class... Args>
    auto async(Args const&... arguments) const {
        using Called = Call<Method<T, M>, std::decay_t<Args const>...>;
        using Result = Answer<typename Called::Result>;
        auto& writer = argument_writer();
        Called::encode_arguments(writer, arguments...);
        return Reply<Result>(
            this->pending()->then_call(Called::entry(), writer, typeid(T).name(), kind_of<Result>));
    }
    template <auto M, class... Args>
    void oneway(Args const&... arguments) const {
        using Called = Call<Method<T, M>, std::decay_t<Args const>...>;
        auto& writer = argument_writer();
        Called::encode_arguments(writer, arguments...);
        this->pending()->then_call(Called::entry(), writer, typeid(T).name(), CallKind::oneway);
    }
};

}  // namespace detail

/// The reply of a call that returns an Object. Methods of the object can be called before it has
/// arrived, so that a chain of calls takes one round trip.
///
///   auto unit = world.async<&World::spawn>("scout");   // Reply<Object<Unit>>
///   auto place = unit.async<&Unit::move>(1, 2);         // at once
template <class T>
class Reply<Object<T>> : public detail::PendingObject<T, Object<T>> {
public:
    using detail::PendingObject<T, Object<T>>::PendingObject;
    /// Calls method M and blocks until it returns.
    template <auto M, class... Args>
    auto call(Args const&... arguments) const {
        return this->template async<M>(arguments...).get();
    }
};

/// As Reply<Object<T>>; `call` returns a Reply at once.
template <class T>
class Reply<AsyncObject<T>> : public detail::PendingObject<T, AsyncObject<T>> {
public:
    using detail::PendingObject<T, AsyncObject<T>>::PendingObject;
    template <auto M, class... Args>
    auto call(Args const&... arguments) const {
        return this->template async<M>(arguments...);
    }
};

}  // namespace sinew
