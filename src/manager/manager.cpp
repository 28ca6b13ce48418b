// SPDX-License-Identifier: Apache-2.0
#include <atomic>
#include <csignal>
#include <sinew/encoding.hpp>
#include <sinew/manager.hpp>
#include <sinew/process.hpp>
#include <utility>

#include "src/base/text.hpp"
#include "src/manager/manager_main.hpp"
#include "src/manager/manager_state.hpp"
#include "src/manager/order.hpp"
#include "src/nodes/place.hpp"
#include "src/task/demangle.hpp"

namespace sinew {
namespace {

using process::Clock;
using process::Lock;

// The kernel ends it within this; else it hangs in a system call, and is left to the runtime.
constexpr auto patience_after_kill = std::chrono::seconds(10);

std::string next_name() {
    static std::atomic<int> count{0};
    return text("Manager-", ++count);
}

Clock::time_point after(std::chrono::nanoseconds timeout) {
    auto const now = Clock::now();
    return timeout > Clock::time_point::max() - now ? Clock::time_point::max() : now + timeout;
}

}  // namespace

std::string manager::seconds(std::chrono::nanoseconds time) {
    return text(std::chrono::duration<double>(time).count(), " s");
}

void Manager::State::start() {
    manager::Order order{.initializer = options.initializer.entry() == nullptr
                                            ? 0
                                            : detail::id_of(*options.initializer.entry()).value,
                         .arguments = options.initializer.arguments(),
                         .listen = {},
                         .key = {}};
    if (!options.listen.empty()) {
        if (!options.authkey) options.authkey = AuthKey::random();
        order.listen = manager::guest_address(options.listen);
        order.key = options.authkey->bytes();
    }
    Lock lock(desk.mail().guard());
    child = nodes::start_child(options.node, {.role = "manager",
                                              .name = options.name,
                                              .message = order.encode(),
                                              .cpus = {},
                                              .env = {},
                                              .meta = options.meta,
                                              .watched = false});
    pid = child->pid();
    listen();
    wait_for_ready(lock);
    connection = desk.connection(*address, options.max_pending_calls);
}

void Manager::State::listen() {
    child->on({.control =
                   [this](wire::Message const& message) {
                       if (message.kind != manager::manager_ready) return;
                       Reader reader(message.payload);
                       auto ready = manager::Ready::decode_from(reader);
                       address = std::move(ready.address);
                       guests = std::move(ready.guests);
                       pid = child->pid();
                       changed.notify_all();
                   },
               .bulk = {},
               .ended =
                   [this](process::ChildEnd const& how) {
                       ended = how;
                       changed.notify_all();
                   }});
}

void Manager::State::wait_for_ready(Lock& lock) {
    bool const in_time =
        changed.wait_until(lock, after(options.start_timeout), [this] { return address || ended; });
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

// In a fork of the process that started it, there is nothing to be ended: the object is left as it is.
void Manager::State::end() noexcept {
    if (!child) return;
    if (process::Runtime::forked()) return static_cast<void>(child.release());
    Lock lock(desk.mail().guard());
    auto const over = [this] { return ended.has_value(); };
    if (!ended) {
        child->control().send(manager::manager_shutdown, 0, {});
        child->control().flush();
        if (!changed.wait_until(lock, after(options.grace), over)) {
            child->signal(SIGKILL);
            changed.wait_for(lock, patience_after_kill, over);
        }
    }
    child = nullptr;
}

Manager::Manager(ManagerOptions options) : state_(std::make_unique<State>(std::move(options))) {
    if (state_->options.name.empty()) state_->options.name = next_name();
    try {
        state_->start();
    } catch (...) {
        Lock const lock(state_->desk.mail().guard());
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
    if (state_) state_->end();
}

void Manager::shutdown() {
    if (state_->pid == 0)
        throw UsageError(text(state_->options.name,
                              " is not ended by who has connected to it (only by who has started "
                              "it). Let go of its objects instead"));
    state_->end();
}
pid_t Manager::pid() const { return state_->pid; }
std::string const& Manager::name() const { return state_->options.name; }

std::shared_ptr<detail::ObjectEnd> Manager::make(detail::TaskEntry const& maker, Writer& arguments,
                                                 unsigned calls) {
    auto const id = detail::id_of(maker).value;
    arguments.overwrite(offsetof(manager::CallHead, method), &id, sizeof id);
    std::uint64_t parallel = calls == 0 ? 0 : calls - 1;  // counted up, as a row of calls is
    auto& desk = state_->desk;
    Lock lock(desk.mail().guard());
    auto const made =
        state_->connection->call(lock, manager::Op::create, 0, &maker, arguments, parallel);
    lock.unlock();
    made->wait_until(process::never);
    auto reader = made->result();
    lock.lock();
    return desk.object(state_->connection, decode<manager::ObjectId>(reader), maker.name, true);
}

std::shared_ptr<detail::ObjectEnd> Manager::find(std::string const& name, char const* type) {
    auto& desk = state_->desk;
    Lock lock(desk.mail().guard());
    auto const asked =
        state_->connection->ask(lock, manager::Op::lookup, 0, manager::bytes_of(name));
    lock.unlock();
    asked->wait_until(process::never);
    auto reader = asked->result();
    auto const bytes = reader.take(reader.left());
    lock.lock();
    if (manager::text_of(bytes) != type) {
        auto const is = std::string(manager::text_of(bytes));
        throw UsageError(text("the object published as ", name, " in ", state_->options.name,
                              " is a ", detail::demangle(is.c_str()), ", not a ",
                              detail::demangle(type), ". Look it up as what it is"));
    }
    return desk.object(state_->connection, asked->found(), type, true);
}

}  // namespace sinew
