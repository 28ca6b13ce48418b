// SPDX-License-Identifier: Apache-2.0
#include <atomic>
#include <csignal>
#include <sinew/detail/deadline.hpp>
#include <sinew/manager.hpp>
#include <sinew/process.hpp>
#include <sinew/task/encoding.hpp>
#include <utility>

#include "src/base/text.hpp"
#include "src/manager/manager_main.hpp"
#include "src/manager/manager_state.hpp"
#include "src/manager/restart/start_message.hpp"
#include "src/process/child/remote_host.hpp"
#include "src/task/demangle.hpp"
#include "src/task/to_bytes.hpp"

namespace sinew {
namespace {

using process::Clock;
using process::Lock;

// Time limit for a killed process to end. A process that hangs in a system call is left to the
// runtime.
constexpr auto patience_after_kill = std::chrono::seconds(10);

std::string next_name() {
    static std::atomic<int> count{0};
    return text("Manager-", ++count);
}

}  // namespace

std::string manager::seconds(std::chrono::nanoseconds time) {
    return text(std::chrono::duration<double>(time).count(), " s");
}

void Manager::State::start() {
    if (!options.listen.empty() && !options.authkey) options.authkey = AuthKey::random();
    std::unique_ptr<manager::SnapshotFolder> folder;
    if (!options.folder.empty()) folder = std::make_unique<manager::SnapshotFolder>(options.folder);
    Lock lock(registry.messenger().guard());
    if (options.max_restarts > 0 || folder) add_supervisor(std::move(folder));
    launch();
    wait_for_ready(lock);
    begun = true;
    if (!supervisor) connection = registry.connection(*address, options.max_pending_calls);
    else if (ended) supervisor->died(ended->text());
    if (supervisor) wait_for_objects(lock);
}

// Waits until the first process has made the objects of the folder. Throws StartFailed if it is
// lost.
void Manager::State::wait_for_objects(Lock& lock) {
    try {
        supervisor->wait_for_place(lock, std::nullopt,
                                   detail::deadline_after(options.start_timeout));
    } catch (ObjectLost const& error) {
        throw StartFailed(error.what());
    }
}

void Manager::State::add_supervisor(std::unique_ptr<manager::SnapshotFolder> folder) {
    supervisor = registry.add_supervisor(
        {options.name, options.max_restarts, options.checkpoints, options.start_timeout},
        std::move(folder),
        {.start = [this] { launch(); },
         .kill = [this] { child->signal(SIGKILL); },
         .alive =
             [this](manager::ManagerPlace const& place) {
                 auto incarnation = std::make_shared<manager::Incarnation const>(place.incarnation);
                 connection = registry.connection(place.address, options.max_pending_calls,
                                                  std::move(incarnation));
             }});
}

void Manager::State::remove_supervisor() {
    if (!supervisor) return;
    supervisor->end("it was shut down by its supervisor");
    registry.remove_supervisor(supervisor->incarnation().lineage);
}

// Starts the manager's process: the first one, or its replacement.
void Manager::State::launch() {
    manager::StartMessage order{
        .initializer = options.initializer.entry() == nullptr
                           ? 0
                           : detail::id_of(*options.initializer.entry()).value,
        .arguments = options.initializer.arguments(),
        .listen = {},
        .key = {},
        .incarnation = {}};
    if (!options.listen.empty()) {
        order.listen = manager::guest_address(options.listen);
        order.key = options.authkey->bytes();
        order.guest_memory = options.guest_memory;
    }
    if (supervisor) order.incarnation = supervisor->incarnation_to_start();
    child = process::start_child(options.node, {.role = "manager",
                                                .name = options.name,
                                                .message = to_bytes(order),
                                                .cpus = {},
                                                .env = {},
                                                .meta = options.meta,
                                                .watched = false});
    pid = child->pid();
    address.reset();
    ended.reset();
    listen();
}

void Manager::State::listen() {
    child->on({.control =
                   [this](wire::Message const& message) {
                       if (message.kind != manager::manager_ready) return;
                       auto ready = from_bytes<manager::Ready>(message.payload);
                       address = std::move(ready.address);
                       guests = std::move(ready.guests);
                       pid = child->pid();
                       if (supervisor) supervisor->ready(*address);
                       changed.notify_all();
                   },
               .bulk = {},
               .ended =
                   [this](process::ChildEnd const& how) {
                       ended = how;
                       changed.notify_all();
                       if (connection) connection->set_cause(how.text());
                       if (supervisor && begun) supervisor->died(how.text());
                   }});
}

void Manager::State::wait_for_ready(Lock& lock) {
    bool const in_time = changed.wait_until(lock, detail::deadline_after(options.start_timeout),
                                            [this] { return address || ended; });
    if (address) return;
    auto const log = [this] {
        return ended && !ended->log.empty() ? ". It wrote:\n" + ended->log
                                            : std::string(". It wrote nothing to standard error");
    };
    if (in_time)
        throw StartFailed(
            text(options.name, " (pid ", pid, ") ", ended->text(), " before it was ready", log()));
    child->signal(SIGKILL);
    changed.wait_for(lock, patience_after_kill, [this] { return ended.has_value(); });
    throw StartFailed(text(options.name, " (pid ", pid, ") was not ready within ",
                           std::chrono::duration<double>(options.start_timeout).count(),
                           " s, and was killed. Does something before sinew::init block? See "
                           "ManagerOptions::start_timeout",
                           log()));
}

// In a forked child there is nothing to end: the Child object is leaked.
void Manager::State::end() noexcept {
    if (!child) return;
    if (process::Runtime::forked()) return static_cast<void>(child.release());
    Lock lock(registry.messenger().guard());
    remove_supervisor();
    auto const over = [this] { return ended.has_value(); };
    if (!ended) {
        child->control().send(manager::manager_shutdown, 0, {});
        child->control().flush();
        if (!changed.wait_until(lock, detail::deadline_after(options.grace), over)) {
            child->signal(SIGKILL);
            changed.wait_for(lock, patience_after_kill, over);
        }
    }
    child = nullptr;
}

// Returns the connection to the manager's process; waits while that is being restarted.
std::shared_ptr<manager::Connection> Manager::State::current(Lock& lock) {
    if (!supervisor) return connection;
    auto const deadline = detail::deadline_after(options.start_timeout);
    auto const now = connection;
    bool const lost = now->is_lost() && now->incarnation();
    supervisor->wait_for_place(
        lock, lost ? std::optional(now->incarnation()->number) : std::nullopt, deadline);
    return connection;
}

Manager::Manager(ManagerOptions options) : state_(std::make_unique<State>(std::move(options))) {
    if (state_->options.name.empty()) state_->options.name = next_name();
    try {
        state_->start();
    } catch (...) {
        Lock const lock(state_->registry.messenger().guard());
        state_->remove_supervisor();
        state_->child = nullptr;
        throw;
    }
}

Manager::Manager(std::unique_ptr<State> state) : state_(std::move(state)) {}
Manager::Manager(Manager&&) noexcept = default;

Manager& Manager::operator=(Manager&& other) noexcept {
    if (this == &other) return *this;
    if (state_) state_->end();
    state_ = std::move(other.state_);
    return *this;
}

Manager::~Manager() {
    if (!state_) return;
    if (process::Runtime::forked())
        process::Runtime::leave_to_parent(std::shared_ptr<State>(std::move(state_)));
    else state_->end();
}

void Manager::shutdown() {
    if (pid() == 0)
        throw UsageError(text(state_->options.name,
                              " cannot be shut down by a client that connected to it (only by the "
                              "process that started it). Drop the handles of its objects instead"));
    state_->end();
}

pid_t Manager::pid() const {
    Lock const lock(state_->registry.messenger().guard());
    return state_->pid;
}

std::string const& Manager::name() const { return state_->options.name; }

std::shared_ptr<manager::PendingReply> Manager::State::begin(detail::TaskEntry const& maker_entry,
                                                             Writer& arguments, unsigned calls) {
    auto const id = detail::id_of(maker_entry).value;
    arguments.overwrite(offsetof(manager::CallHead, method), &id, sizeof id);
    std::uint64_t parallel = calls == 0 ? 0 : calls - 1;  // Connection::call increments it
    Lock lock(registry.messenger().guard());
    return current(lock)->call(lock, manager::Op::create, 0, &maker_entry, arguments, parallel,
                               manager::gives_object);
}

std::shared_ptr<detail::ObjectEnd> Manager::make(detail::TaskEntry const& constructor,
                                                 Writer& arguments, unsigned calls) {
    auto const made = state_->begin(constructor, arguments, calls);
    made->wait_until(process::never);
    return made->object(constructor.name);
}

std::shared_ptr<detail::PendingCall> Manager::begin_make(detail::TaskEntry const& constructor,
                                                         Writer& arguments, unsigned calls) {
    return state_->begin(constructor, arguments, calls);
}

std::shared_ptr<detail::ObjectEnd> Manager::find(std::string const& name, char const* type) {
    auto& registry = state_->registry;
    Lock lock(registry.messenger().guard());
    auto const connection = state_->current(lock);
    auto const asked = connection->ask(lock, manager::Op::lookup, 0, bytes_of(name));
    lock.unlock();
    asked->wait_until(process::never);
    auto reader = asked->result();
    auto const bytes = reader.take(reader.left());
    lock.lock();
    if (text_of(bytes) != type) {
        auto const is = std::string(text_of(bytes));
        throw UsageError(text("the object published as ", name, " in ", state_->options.name,
                              " is a ", detail::demangle(is.c_str()), ", not a ",
                              detail::demangle(type), ". Look it up as what it is"));
    }
    // Sends `hold` only if this process has no handle yet; an existing one continues its sequence
    // numbers.
    return registry.object(connection, asked->found(), type, false);
}

}  // namespace sinew
