// SPDX-License-Identifier: Apache-2.0
#include "src/process/nursery.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <set>
#include <sinew/error.hpp>
#include <utility>

#include "src/base/oom.hpp"
#include "src/base/text.hpp"
#include "src/process/child.hpp"
#include "src/process/child_environment.hpp"
#include "src/process/error_stream.hpp"
#include "src/process/spawner.hpp"
#include "src/wire/adopt.hpp"

namespace sinew::process {
namespace {

class LivingChild;

/// What this process knows of its children; under the runtime's guard.
struct Nursery {
    std::set<std::shared_ptr<LivingChild>> children;  ///< all that have not wholly ended
    std::uint64_t oom_kills = 0;                      ///< of this cgroup, as far as accounted for
    std::function<void()> all_ended;
    bool begun = false;

    void tell_if_all_ended() {
        if (!children.empty()) return;
        if (auto const tell = std::exchange(all_ended, nullptr)) tell();
    }
    static Nursery& instance() {
        static Nursery* const nursery = new Nursery;
        return *nursery;
    }
};

/// Memory that two processes share.
class SharedPage {
public:
    SharedPage() : file_(::memfd_create("sinew status", MFD_CLOEXEC)) {
        if (!file_ || ::ftruncate(file_.get(), sizeof(StatusPage)) != 0) fail("memfd_create");
        at_ =
            ::mmap(nullptr, sizeof(StatusPage), PROT_READ | PROT_WRITE, MAP_SHARED, file_.get(), 0);
        if (at_ == MAP_FAILED) fail("mmap");
        page().running = ~std::uint64_t{0};
    }
    SharedPage(SharedPage const&) = delete;
    ~SharedPage() { ::munmap(at_, sizeof(StatusPage)); }
    StatusPage& page() const { return *static_cast<StatusPage*>(at_); }
    int file() const { return file_.get(); }
    void close_file() { UniqueFd const unused = std::move(file_); }

private:
    [[noreturn]] static void fail(char const* step) {
        throw SystemError(text("no memory to share with a child (", step, ": ",
                               std::strerror(errno), "). See ulimit -n and free memory"),
                          errno);
    }
    UniqueFd file_;
    void* at_ = MAP_FAILED;
};

/// Everything of one child, from its start until it has been reaped and heard to the end.
class LivingChild : public std::enable_shared_from_this<LivingChild> {
public:
    LivingChild(Runtime& runtime, ChildSpec const& spec)
        : runtime_(runtime), name_(spec.name), watched_(spec.watched) {}

    void start(ChildSpec const& spec);
    void on(Child::Callbacks callbacks);
    /// Nobody asks for it any more.
    void abandon();
    void signal(int number);

    std::string const& name() const { return name_; }
    pid_t pid() const { return pid_; }
    bool reaped() const { return reaped_; }
    wire::Link& control() { return *control_; }
    wire::Link& bulk() { return *bulk_; }
    StatusPage& status() const { return page_.page(); }
    int sentinel() const { return ended_.get(); }

private:
    using Watched = std::function<void(wire::Message const&)> Child::Callbacks::*;
    void adopt(UniqueFd control, UniqueFd bulk);
    void listen(wire::Link& link, bool& over, Watched message);
    void reap();
    void remove_folder_of(pid_t pid) const;
    void note(siginfo_t const& info);
    void be_patient();
    void finish_if_over();

    Runtime& runtime_;
    std::string const name_;
    bool const watched_;
    SharedPage page_;
    pid_t pid_ = 0;
    UniqueFd ended_;
    wire::Loop::Handle ended_watch_, patience_;
    std::unique_ptr<wire::Link> control_, bulk_;
    std::shared_ptr<ErrorStream> errors_;
    std::shared_ptr<Child::Callbacks const> callbacks_;
    std::uint64_t heard_ = 0;  ///< messages
    bool control_over_ = false, bulk_over_ = false, errors_over_ = false;
    bool reaped_ = false, killed_ = false, finished_ = false;
    ChildEnd end_;
};

std::pair<UniqueFd, UniqueFd> make_socket_pair() {
    std::array<int, 2> ends{};
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0)
        throw SystemError(text("socketpair failed (", std::strerror(errno), "). See ulimit -n"),
                          errno);
    return {UniqueFd(ends[0]), UniqueFd(ends[1])};
}

void LivingChild::start(ChildSpec const& spec) {
    auto [control, control_end] = make_socket_pair();
    auto [bulk, bulk_end] = make_socket_pair();
    auto [errors, errors_end] = make_pipe();
    auto more = spec.env;
    more.push_back(
        text(birth::variable, "=", control_end.get(), ",", bulk_end.get(), ",", page_.file()));
    auto const head = birth::encode(runtime_, spec);
    auto spawned =
        spawn_in_lasting_thread({.path = "/proc/self/exe",
                                 .argv = {spec.name},
                                 .env = child_environment(more),
                                 .folder = {},
                                 .cpus = spec.cpus,
                                 .err = errors_end.get(),
                                 .keep = {control_end.get(), bulk_end.get(), page_.file()},
                                 .death_signal = SIGKILL});
    if (spawned.error != 0)
        throw SystemError(text(spec.name, " cannot be started (", spawned.step, ": ",
                               std::strerror(spawned.error), "). See ulimit -u and ulimit -n"),
                          spawned.error);
    pid_ = spawned.pid;
    ended_ = std::move(spawned.ended);
    page_.close_file();
    errors_ = std::make_shared<ErrorStream>(runtime_.loop(), std::move(errors));
    errors_->start();
    ended_watch_ = runtime_.loop().readable(ended_.get(), [this] { reap(); });
    adopt(std::move(control), std::move(bulk));
    control_->send(birth::kind, 0, {std::as_bytes(std::span(head)), spec.message});
    control_->flush();
}

void LivingChild::adopt(UniqueFd control, UniqueFd bulk) {
    wire::Identity const identity{0, 0, 0, text(name_, " (pid ", pid_, ")")};
    auto& loop = runtime_.loop();
    control_ = wire::adopt(loop, std::move(control), identity,
                           watched_ ? control_options() : bulk_options());
    bulk_ = wire::adopt(loop, std::move(bulk), identity, bulk_options());
}

void LivingChild::on(Child::Callbacks callbacks) {
    bool const first = callbacks_ == nullptr;
    callbacks_ = std::make_shared<Child::Callbacks const>(std::move(callbacks));
    if (!first) return;
    listen(*control_, control_over_, &Child::Callbacks::control);
    listen(*bulk_, bulk_over_, &Child::Callbacks::bulk);
}

void LivingChild::listen(wire::Link& link, bool& over, Watched message) {
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

void LivingChild::abandon() {
    callbacks_ = std::make_shared<Child::Callbacks const>(
        Child::Callbacks{.control = {}, .bulk = {}, .ended = {}});
    control_over_ = bulk_over_ = true;
    control_ = nullptr;
    bulk_ = nullptr;
    signal(SIGKILL);
    finish_if_over();
}

void LivingChild::signal(int number) {
    if (reaped_ || pid_ == 0) return;
    killed_ = killed_ || number == SIGKILL;
    ::syscall(SYS_pidfd_send_signal, ended_.get(), number, nullptr, 0);
}

void LivingChild::reap() {
    auto const self = shared_from_this();
    siginfo_t info{};
    int const result = ::waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG);
    if (result == 0 && info.si_pid != pid_) return;
    ended_watch_ = {};
    reaped_ = true;
    remove_folder_of(pid_);
    if (result == 0) note(info);
    else end_.code = 255;  // somebody else has taken it: the program waits for all its children
    errors_->child_ended([this, self] {
        errors_over_ = true;
        finish_if_over();
    });
    be_patient();
    finish_if_over();
}

// A child that was killed left its private folder.
void LivingChild::remove_folder_of(pid_t pid) const {
    auto const prefix = text("proc-", pid, "-");
    std::error_code ignored;
    for (auto const& entry : std::filesystem::directory_iterator(runtime_.family_folder(), ignored))
        if (entry.path().filename().string().starts_with(prefix))
            std::filesystem::remove_all(entry.path(), ignored);
}

void LivingChild::note(siginfo_t const& info) {
    if (info.si_code == CLD_EXITED) {
        end_.code = info.si_status;
        return;
    }
    end_.signal = info.si_status;
    auto& nursery = Nursery::instance();
    if (end_.signal == SIGKILL && !killed_ && oom_kills() > nursery.oom_kills) {
        ++nursery.oom_kills;
        end_.out_of_memory = true;
    }
}

// What the child has forked may hold its ends of the links, or our standard error not take what it
// wrote. All that it said itself has come when nothing more came for a while.
void LivingChild::be_patient() {
    patience_ = runtime_.loop().after(std::chrono::seconds(1), [this, heard = heard_] {
        if (heard != heard_) return be_patient();
        auto const self = shared_from_this();
        if (callbacks_) control_over_ = bulk_over_ = true;
        errors_over_ = true;
        finish_if_over();
    });
}

void LivingChild::finish_if_over() {
    if (!reaped_ || !control_over_ || !bulk_over_ || !errors_over_ || finished_) return;
    auto const self = shared_from_this();
    finished_ = true;
    patience_ = {};
    end_.log = errors_->tail();
    auto& nursery = Nursery::instance();
    nursery.children.erase(self);
    auto const callbacks = callbacks_;
    if (callbacks && callbacks->ended) callbacks->ended(end_);
    nursery.tell_if_all_ended();
}

/// The hold of whoever started it.
class Handle final : public Child {
public:
    explicit Handle(std::shared_ptr<LivingChild> child) : child_(std::move(child)) {}
    ~Handle() override {
        if (!Runtime::forked()) child_->abandon();  // in a fork, the parent's is not ours to end
    }
    void on(Callbacks callbacks) override { child_->on(std::move(callbacks)); }
    pid_t pid() const override { return child_->pid(); }
    wire::Link& control() override { return child_->control(); }
    wire::Link& bulk() override { return child_->bulk(); }
    StatusPage& status() const override { return child_->status(); }
    void signal(int number) override { child_->signal(number); }
    int sentinel() const override { return child_->sentinel(); }

private:
    std::shared_ptr<LivingChild> child_;
};

// At the end of the program: all of them go, and are heard to the end.
void end_all(std::function<void()> const& done) {
    auto& nursery = Nursery::instance();
    nursery.all_ended = [done] {
        finish_error_output(std::chrono::seconds(2));
        done();
    };
    auto const children = nursery.children;
    for (auto const& child : children) child->signal(SIGKILL);
    nursery.tell_if_all_ended();
}

}  // namespace

std::int64_t lease_clock_ns() {
    timespec now{};
    ::clock_gettime(CLOCK_BOOTTIME, &now);
    return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

std::string ChildEnd::text() const {
    if (signal == 0) return sinew::text("exited with code ", code);
    return sinew::text("killed by signal ", signal, " (",
                       out_of_memory ? "by the kernel, for want of memory" : ::strsignal(signal),
                       ")");
}

std::vector<std::pair<std::string, pid_t>> living_children() {
    std::vector<std::pair<std::string, pid_t>> found;
    for (auto const& child : Nursery::instance().children)
        if (!child->reaped()) found.emplace_back(child->name(), child->pid());
    return found;
}

std::unique_ptr<Child> start_child(ChildSpec const& spec) {
    if (!was_init_called())
        throw UsageError(text(spec.name,
                              " cannot be started (sinew::init(argc, argv) was not "
                              "called: the new process would run all of main). Make it "
                              "the first statement of main"));
    auto& runtime = Runtime::instance();
    if (runtime.ending())
        throw UsageError(text(spec.name,
                              " cannot be started (this program is ending). Start "
                              "processes before main is left or exit is called"));
    auto& nursery = Nursery::instance();
    if (!std::exchange(nursery.begun, true)) runtime.at_end(end_all);
    if (nursery.children.empty()) nursery.oom_kills = oom_kills();
    auto child = std::make_shared<LivingChild>(runtime, spec);
    try {
        child->start(spec);
    } catch (...) {
        if (child->pid() > 0) nursery.children.insert(child);  // to be reaped
        child->abandon();
        throw;
    }
    nursery.children.insert(child);
    return std::make_unique<Handle>(std::move(child));
}

}  // namespace sinew::process
