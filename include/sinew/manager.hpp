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
#include <sinew/manager/auth_key.hpp>
#include <sinew/manager/object.hpp>
#include <sinew/manager/persistence.hpp>
#include <sinew/meta.hpp>
#include <sinew/node.hpp>
#include <sinew/task/initializer.hpp>

namespace sinew {

/// No manager answered at the address, or it refused the connection. what() has the reason.
class ConnectFailed : public Error {
public:
    using Error::Error;
};

/// Options of a Manager.
struct ManagerOptions {
    std::string name = {};  ///< shown in messages and by ps; empty: "Manager-1", "Manager-2", ...
    /// The node on which the manager's process runs, see Nodes. Default: this host.
    Node node = {};
    /// Resources that the process gets on that node.
    Meta meta = {};
    /// How many times the process is restarted, with its objects, when it dies; see ObjectRestarted
    /// and Object::refresh.
    std::uint32_t max_restarts = 0;
    /// When the states of objects are saved. Has an effect with max_restarts or a folder.
    Checkpoints checkpoints = {};
    /// A folder that keeps published objects on disk, so that they outlive this process. A manager
    /// that begins with the folder has the objects found there, in the state of their last
    /// checkpoints; see Manager::lookup. The folder is created for this user alone and used by one
    /// manager at a time. Empty: none.
    std::string folder = {};
    /// Called by the process before it serves: `.initializer = sinew::initializer<load>(path)`. If
    /// it throws, the manager does not start.
    Initializer initializer = {};
    /// The address at which the manager also listens for processes of other sessions (see
    /// Manager::connect): "127.0.0.1:0", "[::1]:4711" (TCP, always with TLS 1.3),
    /// "unix:/folder/name" (same user only), "unix:/" (a name in its private folder). Empty: it
    /// does not listen.
    std::string listen = {};
    /// The key that these clients must present. Default: a random key.
    std::optional<AuthKey> authkey = {};
    /// Maximum memory, in bytes, that the manager's process holds for one client of another
    /// session: arguments that arrive, calls that wait, and replies that are not read. The
    /// connection of a client with more is ended.
    std::size_t guest_memory = std::size_t{1} << 30;
    /// Time limit until the manager can be called.
    std::chrono::nanoseconds start_timeout = std::chrono::seconds(60);
    /// Maximum calls in flight from one client process; further calls block.
    std::size_t max_pending_calls = 10'000;
    /// Time that running calls get at shutdown() before the process is killed.
    std::chrono::nanoseconds grace = std::chrono::seconds(5);
};

/// Options of Manager::connect.
struct ConnectOptions {
    /// Time limit until the manager has answered. Until then, an address without a listener is
    /// tried again.
    std::chrono::nanoseconds timeout = std::chrono::seconds(10);
    std::size_t max_pending_calls = 10'000;  ///< see ManagerOptions
};

/// A process that holds objects whose methods any process of the session can call; see Object. The
/// process runs this same program, so main() must begin with sinew::init(). It ends with this
/// object and with the process that made it.
///
/// With ManagerOptions::max_restarts, a process that dies is restarted by the process that made the
/// manager, which keeps what a restart needs: constructor arguments, names and states (see
/// Checkpointable). Objects that were made again live as long as the manager. `create` and `lookup`
/// block during a restart.
///
/// Thread-safe, except for moves, shutdown() and destruction.
class Manager {
public:
    /// Starts the process and returns when it can be called. Throws StartFailed with the process's
    /// output; SystemError; what Meta throws if the host lacks a resource; and for
    /// ManagerOptions::folder UsageError (it is in use, others may write to it, or it has an object
    /// of a type that this program does not have) or DecodeError (it is damaged).
    explicit Manager(ManagerOptions options = {});
    /// Connects to a manager of another session: of a program of the same build that neither
    /// started this one nor was started by it. That manager must listen (ManagerOptions::listen).
    /// Throws ConnectFailed if no manager answers or the key is wrong, and UsageError if it is of
    /// another build.
    ///
    /// Its objects are called like those of the own session, and are released when this process
    /// ends. Over TCP, a manager that shows no sign of life for 6 s counts as lost. Handles of its
    /// objects can be sent to it and to processes that are connected to it themselves; elsewhere
    /// they are refused.
    static Manager connect(std::string const& address, AuthKey const& authkey,
                           ConnectOptions options = {});
    Manager(Manager&&) noexcept;
    Manager& operator=(Manager&&) noexcept;
    /// Ends the process as shutdown() does.
    ~Manager();

    /// Makes an object T(arguments...) in the manager and returns its handle. Throws what the
    /// constructor threw, or ObjectLost if the manager is gone.
    template <class T, class... Args>
    Object<T> create(Args const&... arguments) {
        return create_parallel<T>(1, arguments...);
    }
    /// As create(), but up to `calls` calls of the object run at the same time, in threads of the
    /// manager. Its methods must be thread-safe.
    template <class T, class... Args>
    Object<T> create_parallel(unsigned calls, Args const&... arguments) {
        using Made = detail::Construction<T, std::decay_t<Args const>...>;
        auto& writer = detail::argument_writer();
        Made::encode_arguments(writer, arguments...);
        return Object<T>(make(Made::entry(), writer, calls));
    }
    /// As create(), but returns at once. The object can be called before it is made; if the
    /// constructor throws, its calls throw the same exception.
    template <class T, class... Args>
    Reply<Object<T>> create_async(Args const&... arguments) {
        return Reply<Object<T>>(begin_making<T>(arguments...));
    }
    /// Returns the handle of a published object. Throws UsageError if there is no object of that
    /// name, or if it is of another type.
    template <class T>
    Object<T> lookup(std::string const& name) {
        return Object<T>(find(name, typeid(T).name()));
    }
    /// Looks up a ready-made object: `lookup<managed::List<int>>("jobs")`.
    template <managed::IsHandle T>
    T lookup(std::string const& name) {
        return T::of(find(name, T::kept()));
    }

    // Ready-made objects; see each class. Throw ObjectLost if the manager is gone.
    managed::Lock lock();
    managed::Lock recursive_lock();
    /// A condition variable with a new recursive lock, or with the given lock.
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
    /// A queue of at most `bound` items; 0: any number.
    template <class T>
    managed::Queue<T> queue(std::size_t bound = 0) {
        return managed::Queue<T>(create<managed::QueueObject<T>>(bound));
    }

    /// The address at which processes of other sessions connect. Throws UsageError if the manager
    /// does not listen.
    std::string const& address() const;
    /// The key that they must present. Throws as address().
    AuthKey const& authkey() const;

    /// Ends the manager: running calls get `grace` to end, and calls that have not begun throw
    /// ObjectLost. Has no effect when called again. Throws UsageError if this process did not start
    /// the manager.
    void shutdown();
    /// The manager's process id, which changes with a restart; 0 if this process did not start the
    /// manager.
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
    std::shared_ptr<detail::PendingCall> begin_make(detail::TaskEntry const& constructor,
                                                    Writer& arguments, unsigned calls);
    explicit Manager(std::unique_ptr<State> state);
    std::shared_ptr<detail::ObjectEnd> make(detail::TaskEntry const& constructor, Writer& arguments,
                                            unsigned calls);
    std::shared_ptr<detail::ObjectEnd> find(std::string const& name, char const* type);
    std::unique_ptr<State> state_;
};

/// A Manager whose objects are called asynchronously: `call` returns a Reply at once. Its functions
/// have the same effects, errors and thread rules as those of Manager.
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
