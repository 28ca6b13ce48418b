// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <memory>
#include <span>
#include <type_traits>
#include <typeinfo>
#include <utility>

#include <sinew/detail/method.hpp>
#include <sinew/manager/reply.hpp>

namespace sinew {
namespace detail {

/// What the handles of one object share in one process.
class ObjectEnd {
public:
    virtual ~ObjectEnd() = default;
    /// The arguments are encoded by then. Throws UsageError at the program's end; all else is told by
    /// the reply.
    virtual std::shared_ptr<PendingCall> call(TaskEntry const& method, Writer& arguments,
                                              CallKind kind) = 0;
    virtual void oneway(TaskEntry const& method, Writer& arguments) = 0;
    virtual void encode_to(Writer& writer) = 0;
    virtual void publish(std::string const& name) = 0;
    virtual void detach() = 0;
    virtual void checkpoint() = 0;
    /// The same object in a later process of its manager; null: this one is not lost.
    virtual std::shared_ptr<ObjectEnd> refreshed(std::chrono::nanoseconds limit) = 0;
};

/// The object of an encoded handle, wherever it lives; `type`: what it must be, as typeid calls it.
std::shared_ptr<ObjectEnd> find_object(Reader& reader, char const* type);

/// Of this thread, empty: arguments are encoded there before they leave.
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

/// An object of type T that lives in a manager's process.
///
/// A handle: copies mean the same object; they travel into tasks, processes, other managers, members
/// of classes. Threads may share one. Any method of T can be called; its arguments and result travel
/// as those of tasks do (no references to non-const).
///
/// - Calls of one process on one object are executed in the order they were made, one at a time;
///   those of different processes in any order, but never two at a time, unless the object was made
///   for several (see Manager::create). Different objects of a manager may be called at the same time.
/// - A method may answer later: see Deferred.
/// - Each call is executed at most once. Where the manager dies, calls that had been sent and not
///   answered are ObjectLost, with maybe_executed().
///   Where the manager is then started anew, they are ObjectRestarted, and so are all further calls of
///   this handle until refresh().
/// - The object lives as long as a process has a handle of it. One whose handle has travelled from a
///   process is held by that process to its end.
template <class T>
class Object {
public:
    /// Waits for the value. Throws what the method threw, ObjectLost.
    template <auto M, class... Args>
    auto call(Args const&... arguments) const {
        return async<M>(arguments...).get();
    }
    /// Returns at once. What is called in quick succession travels together. Waits only where there
    /// are more than `max_pending_calls` under way.
    template <auto M, class... Args>
    auto async(Args const&... arguments) const {
        using Called = detail::Call<detail::Method<T, M>, std::decay_t<Args const>...>;
        auto& writer = detail::argument_writer();
        Called::encode_arguments(writer, arguments...);
        using Result = detail::Answer<typename Called::Result>;
        return Reply<Result>(end_->call(Called::entry(), writer, detail::kind_of<Result>));
    }
    /// Nobody hears of its end: what it throws is written to the manager's standard error.
    template <auto M, class... Args>
    void oneway(Args const&... arguments) const {
        using Called = detail::Call<detail::Method<T, M>, std::decay_t<Args const>...>;
        auto& writer = detail::argument_writer();
        Called::encode_arguments(writer, arguments...);
        end_->oneway(Called::entry(), writer);
    }

    /// Other processes find it by Manager::lookup; it lives as long as its manager. Throws UsageError
    /// where the name is taken.
    void publish(std::string const& name) const { end_->publish(name); }
    /// It lives as long as its manager, whoever has handles.
    void detach() const { end_->detach(); }

    /// In the turn of a call: its state (see Checkpointable) goes to the process that made its manager.
    /// Returns when it is kept there. Throws UsageError where there is nothing that keeps it.
    void checkpoint() const { end_->checkpoint(); }
    /// After ObjectRestarted: this handle means the object that was made again, whatever of its former
    /// state is lost; other copies of the handle stay as they are. Waits until that can be called.
    /// Nothing where the process has not died. Throws ObjectLost where it has, for the last time, with
    /// how often and why; Timeout.
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

/// The same, asynchronous by default: Fiber's meaning of a proxy of an AsyncManager.
template <class T>
class AsyncObject {
public:
    explicit AsyncObject(Object<T> object) : object_(std::move(object)) {}
    explicit AsyncObject(std::shared_ptr<detail::ObjectEnd> end) : object_(std::move(end)) {}
    static char const* type_name() { return typeid(T).name(); }
    /// Returns at once, with a Reply.
    template <auto M, class... Args>
    auto call(Args const&... arguments) const {
        return object_.template async<M>(arguments...);
    }
    template <auto M, class... Args>
    void oneway(Args const&... arguments) const {
        object_.template oneway<M>(arguments...);
    }
    /// As of an Object.
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

/// A handle that is on its way, and can be called all the same.
template <class T, class Handle>
class PendingObject : public ReplyTo<Handle> {
public:
    using ReplyTo<Handle>::ReplyTo;

    /// Returns at once. The call is sent at once, too: it is executed when the one that gives the
    /// object has ended, in the order of such calls, and before all that is called of the handle once
    /// it is there. Where that one fails, so does this, with the same exception, and is not executed.
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

/// An object that a call will give: it is got as any value, and can be called before it is there, so
/// that a chain of calls takes one round trip.
///
///   auto unit = world.async<&World::spawn>("scout");   // Reply<Object<Unit>>
///   auto place = unit.async<&Unit::move>(1, 2);         // at once
template <class T>
class Reply<Object<T>> : public detail::PendingObject<T, Object<T>> {
public:
    using detail::PendingObject<T, Object<T>>::PendingObject;
    /// Waits for the value.
    template <auto M, class... Args>
    auto call(Args const&... arguments) const {
        return this->template async<M>(arguments...).get();
    }
};

/// The same, asynchronous by default.
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
