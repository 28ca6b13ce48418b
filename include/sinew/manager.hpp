// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <typeinfo>
#include <utility>
#include <vector>

#include <sinew/auth_key.hpp>
#include <sinew/error.hpp>
#include <sinew/managed/array.hpp>
#include <sinew/managed/barrier.hpp>
#include <sinew/managed/condition.hpp>
#include <sinew/managed/counter.hpp>
#include <sinew/managed/dict.hpp>
#include <sinew/managed/event.hpp>
#include <sinew/managed/list.hpp>
#include <sinew/managed/lock.hpp>
#include <sinew/managed/queue.hpp>
#include <sinew/managed/semaphore.hpp>
#include <sinew/managed/space.hpp>
#include <sinew/managed/value.hpp>
#include <sinew/manager/object.hpp>
#include <sinew/manager/persistence.hpp>
#include <sinew/meta.hpp>
#include <sinew/node.hpp>
#include <sinew/task/initializer.hpp>

namespace sinew {

/// No manager answered at an address, or it refused. what() says why.
class ConnectFailed : public Error {
public:
    using Error::Error;
};

struct ManagerOptions {
    std::string name = {};  ///< for people and for ps; empty: "Manager-1", "Manager-2", ...
    /// Where its process runs: another node of a job, see Nodes.
    Node node = {};
    /// What it is to have of that host.
    Meta meta = {};
    /// How often the process is started anew when it dies, with its objects: see ObjectRestarted,
    /// Object::refresh.
    std::uint32_t max_restarts = 0;
    /// Of objects that are made anew; with max_restarts, or a folder.
    Checkpoints checkpoints = {};
    /// A folder in which published objects outlive this process too, on a disk that keeps what it was given:
    /// a manager that begins with it has those that are there, as their last checkpoints have them (see
    /// Manager::lookup). It is made for this user alone; one manager at a time has it. Empty: none.
    std::string folder = {};
    /// What its process does before it serves: `.initializer = sinew::initializer<load>(path)`. The
    /// manager does not start where that throws.
    Initializer initializer = {};
    /// Where it also listens for processes of other families (see Manager::connect): "127.0.0.1:0",
    /// "[::1]:4711" (TCP, always under TLS 1.3), "unix:/folder/name" (of the same user), "unix:/" (a
    /// name in its private folder). Empty: nowhere.
    std::string listen = {};
    /// What those have to know. Default: a random one.
    std::optional<AuthKey> authkey = {};
    /// Bytes that its process holds for one process of another family: arguments that arrive, calls
    /// that wait, answers that are not read. The connection to one with more under way is ended.
    std::size_t guest_memory = std::size_t{1} << 30;
    /// Until it can be called.
    std::chrono::nanoseconds start_timeout = std::chrono::seconds(60);
    /// Of one calling process: then further calls wait.
    std::size_t max_pending_calls = 10'000;
    /// What calls that run at shutdown() are given before the process is killed.
    std::chrono::nanoseconds grace = std::chrono::seconds(5);
};

struct ConnectOptions {
    /// Until the manager has answered. While nobody listens there, it is tried again.
    std::chrono::nanoseconds timeout = std::chrono::seconds(10);
    std::size_t max_pending_calls = 10'000;  ///< as of ManagerOptions
};

/// A process that holds objects, which any process of the family calls; see Object. It is this same
/// program, started anew: sinew::init() comes first in main. It ends with this object, and dies with
/// the process that made it.
///
/// With `max_restarts`, a process of it that dies is started anew by the one that made it, which keeps
/// what that takes: arguments of constructors, names, and states (see Checkpointable). Objects that were made
/// again live as long as the manager. `create` and `lookup` wait meanwhile.
class Manager {
public:
    /// Returns when it can be called. Throws StartFailed with what it wrote, SystemError, and what a
    /// Meta throws that the host has not; of ManagerOptions::folder also UsageError (another has it, others
    /// may write to it, a type there is not this program's) and DecodeError (it is damaged).
    explicit Manager(ManagerOptions options = {});
    /// The manager of another family, that is: of a program of the same build which this one was not
    /// started by, nor has started. It must listen for such. Throws ConnectFailed (nobody is there, the
    /// key is wrong), UsageError (it is of another build).
    ///
    /// Its objects are called as one's own are, and let go when this process ends. Over TCP a manager
    /// that gives no sign of life for 6 s counts as lost. Handles of its objects travel to it, and to
    /// processes that have connected to it themselves; elsewhere they are refused.
    static Manager connect(std::string const& address, AuthKey const& authkey,
                           ConnectOptions options = {});
    Manager(Manager&&) noexcept;
    Manager& operator=(Manager&&) noexcept;
    /// As shutdown().
    ~Manager();

    /// Makes an object there: T(arguments...). Throws what the constructor threw, ObjectLost.
    template <class T, class... Args>
    Object<T> create(Args const&... arguments) {
        return create_parallel<T>(1, arguments...);
    }
    /// Up to so many calls of it at a time, in threads of the manager: its methods must allow that.
    template <class T, class... Args>
    Object<T> create_parallel(unsigned calls, Args const&... arguments) {
        using Made = detail::Construction<T, std::decay_t<Args const>...>;
        auto& writer = detail::argument_writer();
        Made::encode_arguments(writer, arguments...);
        return Object<T>(make(Made::entry(), writer, calls));
    }
    /// Returns at once: the object can be called before it is made. What the constructor throws, its
    /// calls throw.
    template <class T, class... Args>
    Reply<Object<T>> create_async(Args const&... arguments) {
        return Reply<Object<T>>(begin_making<T>(arguments...));
    }
    /// One that was published. Throws UsageError: there is none of that name, or it is of another type.
    template <class T>
    Object<T> lookup(std::string const& name) {
        return Object<T>(find(name, typeid(T).name()));
    }
    /// As `lookup<managed::List<int>>("jobs")`.
    template <managed::IsHandle T>
    T lookup(std::string const& name) {
        return T::of(find(name, T::kept()));
    }

    // What is ready-made: see each class.
    managed::Lock lock();
    managed::Lock recursive_lock();
    /// With a recursive lock of its own.
    managed::Condition condition();
    managed::Condition condition(managed::Lock const& lock);
    managed::Event event();
    managed::Semaphore semaphore(std::int64_t permits = 1);
    managed::Semaphore bounded_semaphore(std::int64_t permits = 1);
    managed::Barrier barrier(std::size_t parties);
    managed::Counter counter(std::int64_t first = 0);
    managed::Space space();
    template <class T>
    managed::Value<T> value(T const& first = T()) {
        return managed::Value<T>(create<managed::ValueObject<T>>(first));
    }
    template <class T>
    managed::Array<T> array(std::size_t size, T const& each = T()) {
        return managed::Array<T>(create<managed::ArrayObject<T>>(size, each));
    }
    template <class T>
    managed::Array<T> array(std::vector<T> const& values) {
        return managed::Array<T>(create<managed::ArrayObject<T>>(values));
    }
    template <class T>
    managed::List<T> list(std::vector<T> const& items = {}) {
        return managed::List<T>(create<managed::ListObject<T>>(items));
    }
    template <class Key, class Value>
    managed::Dict<Key, Value> dict(std::vector<std::pair<Key, Value>> const& items = {}) {
        return managed::Dict<Key, Value>(create<managed::DictObject<Key, Value>>(items));
    }
    /// `bound`: how many items it takes; 0: any number.
    template <class T>
    managed::Queue<T> queue(std::size_t bound = 0) {
        return managed::Queue<T>(create<managed::QueueObject<T>>(bound));
    }

    /// Where those of other families connect, and what they must know. UsageError: nowhere.
    std::string const& address() const;
    AuthKey const& authkey() const;

    /// Calls that run end, within `grace`; what has not begun is ObjectLost. Again: nothing. UsageError
    /// where this process has not started it.
    void shutdown();
    /// Of the present process; changes when that is started anew. 0 where this process has not started
    /// it.
    pid_t pid() const;
    std::string const& name() const;

protected:
    template <class T, class... Args>
    std::shared_ptr<detail::PendingCall> begin_making(Args const&... arguments) {
        using Made = detail::Construction<T, std::decay_t<Args const>...>;
        auto& writer = detail::argument_writer();
        Made::encode_arguments(writer, arguments...);
        return begin_make(Made::entry(), writer, 1);
    }

private:
    struct State;
    std::shared_ptr<detail::PendingCall> begin_make(detail::TaskEntry const& maker,
                                                    Writer& arguments, unsigned calls);
    explicit Manager(std::unique_ptr<State> state);
    std::shared_ptr<detail::ObjectEnd> make(detail::TaskEntry const& maker, Writer& arguments,
                                            unsigned calls);
    std::shared_ptr<detail::ObjectEnd> find(std::string const& name, char const* type);
    std::unique_ptr<State> state_;
};

/// A Manager whose objects are called asynchronously: `call` returns a Reply at once.
class AsyncManager : public Manager {
public:
    using Manager::Manager;
    static AsyncManager connect(std::string const& address, AuthKey const& authkey,
                                ConnectOptions options = {}) {
        return AsyncManager(Manager::connect(address, authkey, options));
    }
    template <class T, class... Args>
    AsyncObject<T> create(Args const&... arguments) {
        return AsyncObject<T>(Manager::create<T>(arguments...));
    }
    template <class T, class... Args>
    AsyncObject<T> create_parallel(unsigned calls, Args const&... arguments) {
        return AsyncObject<T>(Manager::create_parallel<T>(calls, arguments...));
    }
    template <class T, class... Args>
    Reply<AsyncObject<T>> create_async(Args const&... arguments) {
        return Reply<AsyncObject<T>>(begin_making<T>(arguments...));
    }
    template <class T>
    AsyncObject<T> lookup(std::string const& name) {
        return AsyncObject<T>(Manager::lookup<T>(name));
    }
    template <managed::IsHandle T>
    T lookup(std::string const& name) {
        return Manager::lookup<T>(name);
    }

    managed::AsyncLock lock() { return Manager::lock().async(); }
    managed::AsyncLock recursive_lock() { return Manager::recursive_lock().async(); }
    managed::AsyncCondition condition() { return Manager::condition().async(); }
    managed::AsyncCondition condition(managed::Lock const& lock) {
        return Manager::condition(lock).async();
    }
    managed::AsyncCondition condition(managed::AsyncLock const& lock) {
        return condition(managed::Lock(lock.object()));
    }
    managed::AsyncEvent event() { return Manager::event().async(); }
    managed::AsyncSemaphore semaphore(std::int64_t permits = 1) {
        return Manager::semaphore(permits).async();
    }
    managed::AsyncSemaphore bounded_semaphore(std::int64_t permits = 1) {
        return Manager::bounded_semaphore(permits).async();
    }
    managed::AsyncBarrier barrier(std::size_t parties) { return Manager::barrier(parties).async(); }
    managed::AsyncCounter counter(std::int64_t first = 0) {
        return Manager::counter(first).async();
    }
    managed::AsyncSpace space() { return Manager::space().async(); }
    template <class T>
    managed::AsyncValue<T> value(T const& first = T()) {
        return Manager::value<T>(first).async();
    }
    template <class T>
    managed::AsyncArray<T> array(std::size_t size, T const& each = T()) {
        return Manager::array<T>(size, each).async();
    }
    template <class T>
    managed::AsyncArray<T> array(std::vector<T> const& values) {
        return Manager::array<T>(values).async();
    }
    template <class T>
    managed::AsyncList<T> list(std::vector<T> const& items = {}) {
        return Manager::list<T>(items).async();
    }
    template <class Key, class Value>
    managed::AsyncDict<Key, Value> dict(std::vector<std::pair<Key, Value>> const& items = {}) {
        return Manager::dict<Key, Value>(items).async();
    }
    template <class T>
    managed::AsyncQueue<T> queue(std::size_t bound = 0) {
        return Manager::queue<T>(bound).async();
    }

private:
    explicit AsyncManager(Manager&& manager) : Manager(std::move(manager)) {}
};

}  // namespace sinew
