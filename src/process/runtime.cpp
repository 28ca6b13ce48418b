// SPDX-License-Identifier: Apache-2.0
#include "src/process/runtime.hpp"

#include <pthread.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <filesystem>
#include <set>
#include <sinew/error.hpp>
#include <thread>
#include <utility>

#include "src/base/env.hpp"
#include "src/base/job_folder.hpp"
#include "src/base/log.hpp"
#include "src/base/system/io.hpp"
#include "src/base/system/signals_blocked.hpp"
#include "src/base/system/this_host.hpp"
#include "src/base/text.hpp"
#include "src/base/waiting/wake_up.hpp"
#include "src/process/guests.hpp"
#include "src/process/peers.hpp"

namespace sinew::process {
namespace {

constexpr auto patience_at_end = std::chrono::seconds(5);

/// What a process of a session inherits from its parent.
struct Session {
    std::optional<wire::Secret> secret;
    std::string name, folder, network;
};
Session& session() {
    static auto& mine = *new Session;  // never destroyed, like the runtime
    return mine;
}

// Set in the child of a fork: its copy of the runtime has no thread, and the sockets belong to the
// parent.
std::atomic<bool> is_fork{false};

[[noreturn]] void refuse_fork() {
    throw UsageError(text("pid ", ::getpid(),
                          " was forked from a process that uses sinew's queues, processes or "
                          "pools (it has copies of their sockets, and no thread). Start it by "
                          "sinew::Process, or exec a program after fork"));
}

std::string host_name() {
    if (auto const name = env("SINEW_NODE_NAME")) return *name;
    auto const name = sinew::host_name();
    return name.empty() ? "localhost" : name;
}

std::string own_name() {
    auto const place = text("pid ", ::getpid(), " on ", host_name());
    return session().name.empty() ? place : text(session().name, " (", place, ")");
}

// The host's name stands in if the kernel does not show its boot id.
std::string own_host() {
    auto const boot = boot_id();
    std::error_code none;
    auto const mounts = std::filesystem::read_symlink("/proc/self/ns/mnt", none).string();
    return text(boot.empty() ? host_name() : boot, ' ', mounts);
}

std::string unique_word() { return wire::Secret::random().hex().substr(0, 16); }

std::uint64_t random_origin() {
    auto const secret = wire::Secret::random();
    std::uint64_t word = 0;
    std::memcpy(&word, secret.bytes().data(), sizeof word);
    return word | 1;  // 0 means that there is none
}

/// The private folder of a process. In the session's first process it is a JobFolder; all others
/// make theirs within that one.
class PrivateFolder {
public:
    PrivateFolder() {
        auto const name = text("proc-", ::getpid(), "-", unique_word());
        if (session().folder.empty()) {
            remove_stale_folders();
            own_.emplace(name);
            path_ = own_->path();
            return;
        }
        path_ = text(session().folder, "/", name);
        if (::mkdir(path_.c_str(), 0700) != 0)
            throw_errno(text(path_, " cannot be created"),
                        "Has the process that started this one ended?");
    }
    PrivateFolder(PrivateFolder const&) = delete;
    ~PrivateFolder() {
        std::error_code ignored;
        if (!own_) std::filesystem::remove_all(path_, ignored);
    }
    std::string const& path() const { return path_; }

private:
    std::optional<JobFolder> own_;
    std::string path_;
};

}  // namespace

struct Runtime::State {
    State()
        : secret(session().secret ? *session().secret : wire::Secret::random()), name(own_name()),
          host(own_host()), origin(random_origin()), peers(loop, {secret, self()}, host) {}

    wire::Identity self() const { return {.name = name, .origin = origin}; }

    void run();
    /// `known_as`: the host that others dial, if it is not that of `address`.
    void listen(wire::Address const& address, std::string const& known_as = "");
    void listen_here();
    /// Listens on TCP. Empty: on the first address that is not loopback.
    void listen_on(std::string const& address);
    void begin_end();
    void end_at_exit();

    std::mutex guard;
    wire::Loop loop{guard};
    LoopLeader loop_leader{
        loop, [this](std::exception const& error) {
            log_warning(text("in the thread that serves ", name, ": ", error.what()));
        }};
    wire::Secret const secret;
    std::string const name, host;
    std::uint64_t const origin;
    std::optional<PrivateFolder> folder;
    std::vector<std::unique_ptr<wire::Listener>> listeners;
    std::string network = session().network;
    std::set<std::string> networks;  ///< on which it listens
    std::vector<std::string>
        addresses;  ///< of the listeners, for other processes; the Unix socket first
    Peers peers;
    std::vector<std::function<void(std::function<void()>)>> at_end;
    std::atomic<bool> ending{false}, over{false};

    std::mutex end_mutex;
    std::condition_variable end_changed;
    std::size_t unfinished = 0;  ///< of `at_end`
    bool begun_to_end = false, left = false;
    std::thread thread;
};

void Runtime::State::run() {
    {
        LoopLeader::Lock held(guard);
        loop_leader.attend(held);
    }
    std::lock_guard const lock(end_mutex);
    left = true;
    end_changed.notify_all();
}

void Runtime::State::listen(wire::Address const& address, std::string const& known_as) {
    bool const same_host = address.family == wire::Address::Family::unix_socket;
    listeners.push_back(
        std::make_unique<wire::Listener>(loop, address, wire::Credentials{secret, self()},
                                         wire::Listener::Options{.link = peer_options(same_host)},
                                         [this](std::unique_ptr<wire::Link> link) {
                                             peers.add(std::move(link), PeerTrust::same_session);
                                         }));
    auto bound = listeners.back()->address();
    if (!known_as.empty()) bound.host = known_as;
    addresses.push_back(bound.text());
}

void Runtime::State::listen_here() {
    if (!folder) folder.emplace();
    if (listeners.empty()) listen(wire::Address::unix_socket(folder->path() + "/peers"));
}

void Runtime::State::listen_on(std::string const& address) {
    auto const interfaces = wire::interfaces();  // loopback last
    if (interfaces.empty())
        throw SystemError("no network interface is up (not even loopback). See ip link",
                          ENETUNREACH);
    auto const wanted = address.empty() ? interfaces.front().address : address;
    if (networks.contains(wanted)) return;
    bool const ours = std::any_of(interfaces.begin(), interfaces.end(),
                                  [&](auto const& each) { return each.address == wanted; });
    // Otherwise it is a name, or the outer address of a translated network (NAT).
    if (ours) listen(wire::Address::tcp(wanted, 0));
    else listen(wire::Address::tcp("0.0.0.0", 0), wanted);
    networks.insert(wanted);
    if (network.empty()) network = wanted;
}

// Requires: guard held.
void Runtime::State::begin_end() {
    ending = true;
    loop_leader.close();
    auto const works = std::exchange(at_end, {});
    {
        std::lock_guard const lock(end_mutex);
        unfinished = works.size();
        begun_to_end = true;
        end_changed.notify_all();
    }
    for (auto const& work : works)
        work([this] {
            std::lock_guard const lock(end_mutex);
            --unfinished;
            end_changed.notify_all();
        });
}

// Runs on the thread that calls exit(). Other threads may still use this object, which stays.
void Runtime::State::end_at_exit() {
    if (is_fork) return;
    if (LoopLeader::driving()) {
        begin_end();  // within a callback: the guard is held, and no other callback will run
    } else {
        loop.post([this] { begin_end(); });
        std::unique_lock lock(end_mutex);
        end_changed.wait_for(lock, patience_at_end,
                             [this] { return begun_to_end && unfinished == 0; });
        loop.stop();
        // This wait times out if a callback is stuck.
        if (end_changed.wait_for(lock, patience_at_end, [this] { return left; })) {
            lock.unlock();
            thread.join();
            // Another thread may still hold the guard.
            if (std::unique_lock const held(guard, std::try_to_lock); held) listeners.clear();
        }
    }
    folder.reset();
    over = true;
}

Runtime::Runtime() : state_(std::make_unique<State>()) {
    check_waiting_settings();
    {
        SignalsBlocked const blocked;
        state_->thread = std::thread([state = state_.get()] { state->run(); });
    }
    ::pthread_atfork(nullptr, nullptr, [] { is_fork = true; });
}

Runtime::~Runtime() = default;

bool Runtime::forked() { return is_fork; }

void Runtime::leave_to_parent(std::shared_ptr<void const> object) {
    static std::mutex guard;
    static auto& all = *new std::vector<std::shared_ptr<void const>>;
    std::lock_guard const lock(guard);
    all.push_back(std::move(object));
}

bool Runtime::in_callback() { return LoopLeader::driving(); }

Runtime& Runtime::instance() {
    if (is_fork) refuse_fork();
    static Runtime* const runtime = new Runtime;  // never destroyed: threads may outlive main
    [[maybe_unused]] static int const registered = [] {
        // OpenSSL registers its cleanup at its first use, which must precede ours: LIFO order.
        static_cast<void>(runtime->state_->secret.derive("first use"));
        return std::atexit([] { runtime->state_->end_at_exit(); });
    }();
    return *runtime;
}

void Runtime::join_session(wire::Secret const& secret, std::string name, std::string folder,
                           std::string network) {
    session() = {secret, std::move(name), std::move(folder), std::move(network)};
}

std::string Runtime::host_name() { return process::host_name(); }
std::string const& Runtime::inherited_folder() { return session().folder; }
std::string const& Runtime::inherited_network() { return session().network; }

std::mutex& Runtime::guard() {
    if (is_fork) refuse_fork();
    return state_->guard;
}
wire::Loop& Runtime::loop() { return state_->loop; }
LoopLeader& Runtime::loop_leader() { return state_->loop_leader; }
wire::Secret const& Runtime::secret() const { return state_->secret; }
std::uint64_t Runtime::origin() const { return state_->origin; }
std::string const& Runtime::name() const { return state_->name; }
std::string const& Runtime::host() const { return state_->host; }
bool Runtime::ending() const { return state_->ending; }
bool Runtime::over() const { return state_->over; }

std::string const& Runtime::folder() {
    if (!state_->folder) state_->folder.emplace();
    return state_->folder->path();
}

std::string const& Runtime::session_folder() {
    return session().folder.empty() ? folder() : session().folder;
}

std::vector<std::string> Runtime::addresses() {
    state_->listen_here();
    // Listens on TCP only on request: most processes need no port.
    if (!network().empty() && state_->networks.empty()) state_->listen_on(network());
    return state_->addresses;
}

void Runtime::listen_on_network(std::string const& host) {
    state_->listen_here();
    state_->listen_on(host);
}

std::string const& Runtime::network() const { return state_->network; }

std::string Runtime::listen_to_guests(std::string const& address, wire::Secret const& key,
                                      std::size_t memory) {
    state_->listen_here();  // first: it does nothing once there is another listener
    auto place = wire::Address::parse(address);
    bool const anywhere = place == wire::Address::unix_socket("/");
    if (anywhere) place.host = folder() + "/guests";
    state_->listeners.push_back(process::listen_to_guests(
        state_->loop, place, {key, state_->self()}, state_->peers, memory));
    return guest_address(state_->listeners.back()->address());
}

std::shared_ptr<Peer> Runtime::host(std::string const& address, wire::Secret const& key,
                                    std::chrono::nanoseconds patience) {
    return state_->peers.find_or_dial_host(wire::Address::parse(address), key, patience);
}

void Runtime::serve(Service service) { state_->peers.serve(std::move(service)); }

std::shared_ptr<Peer> Runtime::peer(std::string const& host,
                                    std::vector<std::string> const& addresses,
                                    std::uint64_t origin) {
    return state_->peers.find_or_dial(host, addresses, origin);
}

void Runtime::at_end(std::function<void(std::function<void()> done)> work) {
    state_->at_end.push_back(std::move(work));
}

}  // namespace sinew::process
