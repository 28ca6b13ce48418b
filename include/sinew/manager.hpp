// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <typeinfo>
#include <utility>

#include <sinew/auth_key.hpp>
#include <sinew/error.hpp>
#include <sinew/initializer.hpp>
#include <sinew/meta.hpp>
#include <sinew/nodes.hpp>
#include <sinew/object.hpp>

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
    /// What its process does before it serves: `.initializer = sinew::initializer<load>(path)`. The
    /// manager does not start where that throws.
    Initializer initializer = {};
    /// Where it also listens for processes of other families (see Manager::connect): "127.0.0.1:0",
    /// "[::1]:4711" (TCP, always under TLS 1.3), "unix:/folder/name" (of the same user), "unix:/" (a
    /// name in its private folder). Empty: nowhere.
    std::string listen = {};
    /// What those have to know. Default: a random one.
    std::optional<AuthKey> authkey = {};
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
class Manager {
public:
    /// Returns when it can be called. Throws StartFailed with what it wrote, SystemError, and what a
    /// Meta throws that the host has not.
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
    /// One that was published. Throws UsageError: there is none of that name, or it is of another type.
    template <class T>
    Object<T> lookup(std::string const& name) {
        return Object<T>(find(name, typeid(T).name()));
    }

    /// Where those of other families connect, and what they must know. UsageError: nowhere.
    std::string const& address() const;
    AuthKey const& authkey() const;

    /// Calls that run end, within `grace`; what has not begun is ObjectLost. Again: nothing. UsageError
    /// where this process has not started it.
    void shutdown();
    /// 0 where this process has not started it.
    pid_t pid() const;
    std::string const& name() const;

private:
    struct State;
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
    template <class T>
    AsyncObject<T> lookup(std::string const& name) {
        return AsyncObject<T>(Manager::lookup<T>(name));
    }

private:
    explicit AsyncManager(Manager&& manager) : Manager(std::move(manager)) {}
};

}  // namespace sinew
