// SPDX-License-Identifier: Apache-2.0
#include "launchers/service/job/supervisor.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iostream>
#include <optional>
#include <sinew/error.hpp>
#include <sinew/lease.hpp>
#include <sinew/remote_error.hpp>
#include <stop_token>
#include <thread>
#include <utility>

#include "launchers/agent/descendants.hpp"
#include "launchers/common/exit_codes.hpp"
#include "launchers/common/own_path.hpp"
#include "launchers/service/job/job_files.hpp"
#include "src/base/system/io.hpp"
#include "src/base/system/spawn.hpp"
#include "src/base/text.hpp"

namespace sinew::launch {
namespace {

using namespace service;
using namespace std::chrono_literals;
using SystemClock = std::chrono::system_clock;

using SteadyClock = std::chrono::steady_clock;

// Signals that arrive together are taken in the order of their numbers.
constexpr auto between_signals = 50ms;
constexpr auto longest_killing = 10s;
// A signal that `sinew run` does not handle yet would end it, and leave its folder.
constexpr auto longest_beginning = 5s;
constexpr auto between_handler_checks = 10ms;

bool handles_signals(pid_t pid) {
    std::ifstream status(text("/proc/", pid, "/status"));
    for (std::string line; std::getline(status, line);)
        if (line.starts_with("SigCgt:"))
            return (std::strtoull(line.c_str() + 7, nullptr, 16) >> (SIGTERM - 1) & 1) != 0;
    return true;  // it has ended
}

std::string in_ms(std::chrono::milliseconds time) {
    return time == 0ms ? "0" : text(time.count(), "ms");
}

bool is_folder(std::string const& path) {
    struct ::stat about {};
    return !path.empty() && ::stat(path.c_str(), &about) == 0 && S_ISDIR(about.st_mode);
}

/// One job, from its lease to its end.
class Supervisor {
public:
    Supervisor(std::string folder, int lock)
        : folder_(std::move(folder)), request_(folder_.request()), lock_(lock) {
        if (::fcntl(lock_.get(), F_SETFD, FD_CLOEXEC) != 0)
            throw UsageError(text("descriptor ", lock, " of the job's lock is not open"));
        sigset_t wanted;
        ::sigemptyset(&wanted);
        for (int const number : {SIGTERM, SIGINT, SIGHUP, SIGUSR1}) ::sigaddset(&wanted, number);
        ::sigprocmask(SIG_BLOCK, &wanted, nullptr);
        signals_ = UniqueFd(::signalfd(-1, &wanted, SFD_CLOEXEC | SFD_NONBLOCK));
        if (!signals_) throw_errno("signalfd failed");
        // What a job leaves behind is found by its parent.
        if (::prctl(PR_SET_CHILD_SUBREAPER, 1) != 0) throw_errno("prctl failed");
        record_.pid = ::getpid();
        if (auto const life = process_life(::getpid())) record_.process_start = life->start;
    }

    int run() {
        folder_.write(record_);
        int code = exit_launcher_failed;
        try {
            if (acquire()) code = run_program();
            else code = 128 + SIGTERM;
        } catch (Error const& problem) {
            record_.cause = problem.what();
            std::cerr << "sinew: " << problem.what() << std::endl;
        }
        if (auto const left = kill_descendants(); left != 0)
            std::cerr << "sinew: " << left << " processes of the job cannot be killed" << std::endl;
        record_.phase = SupervisorRecord::Phase::ended;
        record_.ended = SystemClock::now();
        record_.exit_code = code;
        record_.timed_out = request_.limit && code == exit_timeout &&
                            record_.ended - record_.started >= *request_.limit;
        folder_.write(record_);
        return 0;
    }

private:
    // Returns false if the job is told to end before its lease is there.
    bool acquire() {
        auto const& needs = request_.needs;
        if (needs.empty()) return true;
        std::stop_source stop;
        auto const [finished, finish] = make_pipe();
        std::jthread const watch([&, end = finished.get()] {
            std::array<pollfd, 2> ready{pollfd{signals_.get(), POLLIN, 0}, pollfd{end, POLLIN, 0}};
            while (::poll(ready.data(), ready.size(), -1) < 0 && errno == EINTR) {}
            if (ready[0].revents != 0) stop.request_stop();
        });
        // Ends the thread, before it is joined.
        struct Wake {
            int fd;
            ~Wake() { [[maybe_unused]] auto const sent = ::write(fd, "", 1); }
        } const wake{finish.get()};
        try {
            auto lease = Lease::acquire(
                {.gpus = needs.gpus, .cpus = needs.cpus, .memory_bytes = needs.memory},
                {.stop = stop.get_token(), .set_environment = false});
            lease_environment_ = lease.environment();
            for (auto const& gpu : lease.gpus())
                record_.gpus += text(record_.gpus.empty() ? "" : ",", gpu.index);
            if (needs.cpus > 0) {
                cpu_set_t set;
                CPU_ZERO(&set);
                for (int const cpu : lease.cpus()) CPU_SET(cpu, &set);
                cpus_ = set;
            }
            lease_ = UniqueFd(lease.hand_over());
            return true;
        } catch (Cancelled const&) {
            return false;
        }
    }

    std::vector<std::string> environment() const {
        auto variables = request_.env;
        for (auto const& [name, value] : lease_environment_) variables[name] = value;
        std::vector<std::string> all;
        for (char** each = ::environ; *each != nullptr; ++each) {
            std::string_view const entry = *each;
            // Flags of `sinew run` that were meant for the server.
            if (entry.starts_with("SINEW_RUN_")) continue;
            if (variables.count(std::string(entry.substr(0, entry.find('=')))) == 0)
                all.emplace_back(entry);
        }
        for (auto const& [name, value] : variables) all.push_back(text(name, "=", value));
        return all;
    }

    std::string folder_of_program() const {
        if (!request_.working_folder.empty()) {
            if (is_folder(request_.working_folder)) return request_.working_folder;
            throw UsageError(text("the working directory ", request_.working_folder,
                                  " does not exist on this server"));
        }
        if (is_folder(request_.folder)) return request_.folder;
        char const* const home = ::getenv("HOME");
        return home != nullptr && is_folder(home) ? home : "/";
    }

    int run_program() {
        SpawnRequest program{
            .path = own_path(),
            .argv = {own_path(), "run", "--backend", "local", "--stdin", "none", "--name",
                     request_.name, "-n", text(request_.ranks), "--grace", in_ms(request_.grace),
                     "--timeout", in_ms(request_.limit.value_or(0ms))},
            .env = environment(),
            .folder = folder_of_program(),
            .cpus = cpus_,
            .keep = {lock_.get()},
            // It ends the job in order if this process is killed.
            .death_signal = SIGTERM};
        // The lease lasts until the last of both has ended.
        if (lease_) program.keep.push_back(lease_.get());
        program.argv.insert(program.argv.end(), request_.words.begin(), request_.words.end());
        auto const out = open_output(folder_.out()), err = open_output(folder_.err());
        program.out = out.get();
        program.err = err.get();
        record_.phase = SupervisorRecord::Phase::running;
        record_.started = SystemClock::now();
        // Before the program starts: what has no such record was not begun.
        folder_.write(record_);
        program_began_ = SteadyClock::now();
        auto const started = spawn(program);
        if (started.error != 0)
            throw SystemError(text("sinew run cannot be started (", started.step, ": ",
                                   std::strerror(started.error), ")"),
                              started.error);
        return wait_for(started);
    }

    UniqueFd open_output(std::string const& path) const {
        UniqueFd file(::open(path.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC));
        if (!file) throw_errno(text(path, " cannot be opened"));
        return file;
    }

    int wait_for(Spawned const& program) {
        for (;;) {
            std::array<pollfd, 2> ready{pollfd{signals_.get(), POLLIN, 0},
                                        pollfd{program.ended.get(), POLLIN, 0}};
            auto const wait = next_step_
                                  ? std::max(0ms, std::chrono::ceil<std::chrono::milliseconds>(
                                                      *next_step_ - SteadyClock::now()))
                                  : -1ms;
            if (::poll(ready.data(), ready.size(), static_cast<int>(wait.count())) < 0 &&
                errno != EINTR)
                throw_errno("poll failed");
            if (ready[0].revents != 0) take_signals();
            if (next_step_ && SteadyClock::now() >= *next_step_) tell(program.pid);
            int status = 0;
            if (ready[1].revents == 0 || !reap(program.pid, status)) continue;
            return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
        }
    }

    void take_signals() {
        signalfd_siginfo info{};
        while (::read(signals_.get(), &info, sizeof info) == ssize_t{sizeof info})
            wanted_ = std::max(wanted_, info.ssi_signo == SIGUSR1 ? 2 : 1);
        if (told_ < wanted_) next_step_ = SteadyClock::now();
    }

    // The first signal ends the job in order. At the second `sinew run` kills the ranks, and removes
    // what is theirs. If it cannot, it is killed, and the rest by this process.
    void tell(pid_t program) {
        auto const now = SteadyClock::now();
        next_step_.reset();
        if (told_ == 0 && !handles_signals(program) && now < program_began_ + longest_beginning) {
            next_step_ = now + between_handler_checks;
            return;
        }
        ::kill(program, told_ == 0 ? SIGTERM : told_ == 1 ? SIGINT : SIGKILL);
        ++told_;
        if (told_ < wanted_) next_step_ = now + between_signals;
        if (told_ == 2) next_step_ = now + longest_killing;
    }

    JobFiles const folder_;
    JobRequest const request_;
    UniqueFd const lock_;
    UniqueFd signals_, lease_;
    std::map<std::string, std::string> lease_environment_;
    std::optional<cpu_set_t> cpus_;
    int wanted_ = 0, told_ = 0;  ///< signals that `sinew run` is to get, and that it got
    SteadyClock::time_point program_began_{};
    std::optional<SteadyClock::time_point> next_step_;  ///< when it is told next
    SupervisorRecord record_;
};

}  // namespace

int supervise_main(std::vector<std::string> const& arguments) {
    int lock = -1;
    if (arguments.size() == 2)
        std::from_chars(arguments[1].data(), arguments[1].data() + arguments[1].size(), lock);
    if (lock < 0) {
        std::cout << "sinew supervise FOLDER LOCK\n\nRuns a job. It is started by sinew serve.\n";
        return 0;
    }
    return Supervisor(arguments[0], lock).run();
}

}  // namespace sinew::launch
