// SPDX-License-Identifier: Apache-2.0
#include "src/process/child/child_process.hpp"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <optional>
#include <sinew/error.hpp>
#include <utility>

#include "src/base/system/io.hpp"
#include "src/base/system/oom.hpp"
#include "src/base/text.hpp"
#include "src/process/child/child_environment.hpp"
#include "src/process/child/child_role.hpp"
#include "src/process/child/spawner.hpp"
#include "src/process/shared/shared_file.hpp"
#include "src/task/to_bytes.hpp"
#include "src/wire/adopt.hpp"

namespace sinew::process {
namespace {

constexpr int socket_room = 1 << 20;
// A smaller message fits into the socket's buffer, and costs one copy.
constexpr std::size_t large_message = socket_room;

std::pair<UniqueFd, UniqueFd> make_socket_pair() {
    auto ends = socket_pair();
    if (!ends.first) throw_errno("socketpair failed", "See ulimit -n");
    // Makes room for whole batches, as far as the system allows: each stop for lack of room costs
    // two context switches.
    for (int const end : {ends.first.get(), ends.second.get()})
        if (::setsockopt(end, SOL_SOCKET, SO_SNDBUFFORCE, &socket_room, sizeof socket_room) != 0)
            ::setsockopt(end, SOL_SOCKET, SO_SNDBUF, &socket_room, sizeof socket_room);
    return ends;
}

// Returns an empty descriptor if the child shares our standard output.
UniqueFd open_output(ChildSpec const& spec) {
    if (spec.out.empty()) return {};
    auto const path = std::filesystem::path(spec.folder) / spec.out;
    UniqueFd file(::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666));
    if (file.get() < 0)
        throw SystemError(text(spec.name, " cannot be started (its standard output ", path.string(),
                               " cannot be opened: ", std::strerror(errno), ")"),
                          errno);
    return file;
}

}  // namespace

void ChildProcess::start(ChildSpec const& spec) {
    auto [control, control_end] = make_socket_pair();
    auto [bulk, bulk_end] = make_socket_pair();
    auto [errors, errors_end] = make_pipe();
    errors_ = std::make_shared<ErrorStream>(runtime_.loop(), std::move(errors));
    if (spec.meta.any())
        reservation_ = std::make_unique<ResourceReservation>(spec.meta, spec.name, spec.cpus);
    page_.page().lease_until = spec.lease_until;
    auto const out = open_output(spec);
    auto more = spec.env;
    if (reservation_) std::ranges::copy(reservation_->env(), std::back_inserter(more));
    // A large message is inherited as a file, since it may exceed a link's largest frame.
    std::optional<SharedFile> message;
    if (spec.message.size() > large_message) message = SharedFile::make(spec.message);
    more.push_back(text(bootstrap::variable, "=", control_end.get(), ",", bulk_end.get(), ",",
                        page_.file(), ",", message ? message->place().descriptor : -1));
    auto const head = to_bytes(
        bootstrap::Head{.secret = spec.session.value_or(runtime_.secret()).hex(),
                        .folder = runtime_.session_folder(),
                        .network = spec.network.empty() ? runtime_.network() : spec.network,
                        .role = spec.role,
                        .name = spec.name,
                        .parent_name = runtime_.name()});
    SpawnRequest request{
        .path = "/proc/self/exe",
        .argv = {spec.name},
        .env = child_environment(more),
        .folder = spec.folder,
        .cpus = reservation_ && reservation_->cpus() ? reservation_->cpus() : spec.cpus,
        .out = out.get(),
        .err = errors_end.get(),
        .keep = {control_end.get(), bulk_end.get(), page_.file()},
        .only_kept = true,  // not those that MPI leaves open
        .group = reservation_ ? reservation_->group() : -1,
        .death_signal = SIGKILL};
    if (message) request.keep.push_back(message->place().descriptor);
    auto spawned = spawn_in_lasting_thread(request);
    if (spawned.error != 0 && request.group >= 0) {  // no permission to start it there
        reservation_->do_without_group();
        request.group = -1;
        spawned = spawn_in_lasting_thread(request);
    }
    if (spawned.error != 0)
        throw SystemError(text(spec.name, " cannot be started (", spawned.step, ": ",
                               std::strerror(spawned.error), "). See ",
                               spec.folder.empty() ? "" : text("its folder ", spec.folder, ", "),
                               "ulimit -u and ulimit -n"),
                          spawned.error);
    pid_ = spawned.pid;
    ended_ = std::move(spawned.ended);
    page_.close_file();
    errors_->start();
    ended_watch_ = runtime_.loop().readable(ended_.get(), [this] { reap(); });
    if (reservation_) reservation_->begin(runtime_.loop(), pid_, [this] { signal(SIGKILL); });
    adopt(std::move(control), std::move(bulk));
    auto const sent = message ? std::span<std::byte const>() : std::span(spec.message);
    control_->send(bootstrap::kind, 0, {head, sent});
    control_->flush();
}

void ChildProcess::adopt(UniqueFd control, UniqueFd bulk) {
    wire::Identity const identity{0, 0, 0, text(name_, " (pid ", pid_, ")")};
    auto& loop = runtime_.loop();
    control_ = wire::adopt(loop, std::move(control), identity,
                           watched_ ? control_options() : bulk_options());
    bulk_ = wire::adopt(loop, std::move(bulk), identity, bulk_options());
}

void ChildProcess::on(Child::Callbacks callbacks) {
    bool const first = callbacks_ == nullptr;
    callbacks_ = std::make_shared<Child::Callbacks const>(std::move(callbacks));
    if (!first) return;
    listen(*control_, control_over_, &Child::Callbacks::control);
    listen(*bulk_, bulk_over_, &Child::Callbacks::bulk);
}

void ChildProcess::listen(wire::Link& link, bool& over, Watched message) {
    link.on({.message =
                 [this, message](wire::Message const& one) {
                     auto const self = shared_from_this();
                     auto const callbacks = callbacks_;
                     ++heard_;
                     if (auto const& take = (*callbacks).*message) take(one);
                 },
             .end =
                 [this, &over](wire::LinkEnd const& end) {
                     auto const self = shared_from_this();
                     over = true;
                     if (end.cause == wire::LinkEnd::Cause::violation) signal(SIGKILL);
                     finish_if_over();
                 },
             .liveness =
                 [this](wire::Liveness now) {
                     auto const self = shared_from_this();
                     auto const callbacks = callbacks_;
                     if (!reaped_ && callbacks->liveness) callbacks->liveness(now);
                 },
             .drained =
                 [this, bulk = &link == bulk_.get()] {
                     auto const self = shared_from_this();
                     auto const callbacks = callbacks_;
                     if (bulk && callbacks->bulk_drained) callbacks->bulk_drained();
                 }});
}

void ChildProcess::abandon() {
    callbacks_ = std::make_shared<Child::Callbacks const>(
        Child::Callbacks{.control = {}, .bulk = {}, .ended = {}});
    control_over_ = bulk_over_ = true;
    control_ = nullptr;
    bulk_ = nullptr;
    signal(SIGKILL);
    finish_if_over();
}

void ChildProcess::signal(int number) {
    if (reaped_ || pid_ == 0) return;
    killed_ = killed_ || number == SIGKILL;
    ::syscall(SYS_pidfd_send_signal, ended_.get(), number, nullptr, 0);
}

void ChildProcess::hold_bulk(bool hold) {
    if (!bulk_) return;
    if (hold && !reaped_) bulk_->pause();
    else bulk_->resume();
}

void ChildProcess::reap() {
    auto const self = shared_from_this();
    siginfo_t info{};
    int const result = ::waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG);
    if (result == 0 && info.si_pid != pid_) return;
    ended_watch_ = {};
    reaped_ = true;
    hold_bulk(false);
    remove_folder_of(pid_);
    if (result == 0) note(info);
    else note_unknown_end();
    reservation_ = nullptr;
    errors_->child_ended([this, self] {
        errors_over_ = true;
        finish_if_over();
    });
    be_patient();
    finish_if_over();
}

// Removes the private folder, which a killed child leaves behind.
void ChildProcess::remove_folder_of(pid_t pid) const {
    auto const prefix = text("proc-", pid, "-");
    std::error_code ignored;
    std::filesystem::directory_iterator at(runtime_.session_folder(), ignored), end;
    for (; !ignored && at != end; at.increment(ignored))
        if (at->path().filename().string().starts_with(prefix))
            return static_cast<void>(std::filesystem::remove_all(at->path(), ignored));
}

// Another wait in this program has taken the exit status, so it cannot be known.
void ChildProcess::note_unknown_end() {
    end_.code = 255;
    end_.fate = text(
        "has ended, but it is not known how (this program waits for all its children, or ignores "
        "SIGCHLD: ",
        name_, "'s exit code is lost)");
}

void ChildProcess::note(siginfo_t const& info) {
    if (info.si_code == CLD_EXITED) {
        end_.code = info.si_status;
        return;
    }
    end_.signal = info.si_status;
    if (end_.signal != SIGKILL) return;
    if (reservation_) end_.why = reservation_->why_killed(killed_);
    end_.out_of_memory = !end_.why.empty();
    auto& table = ChildTable::instance();
    if (!killed_ && oom_kills() > table.oom_kills) {
        ++table.oom_kills;
        end_.out_of_memory = true;
    }
}

// Processes that the child has forked may hold its ends of the links open, and our standard error
// may block. All messages of the child itself have arrived when none came for a second.
void ChildProcess::be_patient() {
    patience_ = runtime_.loop().after(std::chrono::seconds(1), [this, heard = heard_] {
        if (heard != heard_) return be_patient();
        auto const self = shared_from_this();
        if (callbacks_) control_over_ = bulk_over_ = true;
        errors_over_ = true;
        finish_if_over();
    });
}

void ChildProcess::finish_if_over() {
    if (!reaped_ || !control_over_ || !bulk_over_ || !errors_over_ || finished_) return;
    auto const self = shared_from_this();
    finished_ = true;
    patience_ = {};
    end_.log = errors_->tail();
    auto& table = ChildTable::instance();
    table.children.erase(self);
    auto const callbacks = callbacks_;
    if (callbacks && callbacks->ended) callbacks->ended(end_);
    table.tell_if_all_ended();
}

}  // namespace sinew::process
