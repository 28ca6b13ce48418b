// SPDX-License-Identifier: Apache-2.0
#include "launchers/service/client/run.hpp"

#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <iostream>
#include <memory>
#include <optional>
#include <sinew/error.hpp>
#include <thread>
#include <utility>

#include "launchers/common/exit_codes.hpp"
#include "launchers/common/signals.hpp"
#include "launchers/io/output_writer.hpp"
#include "launchers/service/client/connection.hpp"
#include "launchers/service/client/resolve.hpp"
#include "launchers/service/client/submission.hpp"
#include "launchers/service/key_file.hpp"
#include "src/base/text.hpp"
#include "src/base/waiting/spin_policy.hpp"

namespace sinew::launch::service {
namespace {

using namespace std::chrono_literals;
using Clock = Connection::Clock;
using Verb = ClientRequest::Verb;
using Kind = ServerAnswer::Kind;

constexpr auto connect_patience = 5s;
constexpr auto reconnect_patience = 60s;
constexpr auto between_reconnects = 200ms;
constexpr std::size_t most_unwritten = std::size_t{4} << 20;

std::string make_token() { return wire::Secret::random().hex().substr(0, 32); }

/// Of several servers: the first that can begin the job now, otherwise that with the fewest waiting.
std::string choose_server(std::vector<std::string> const& addresses, wire::Secret const& key,
                          Resources const& needs) {
    if (addresses.size() == 1) return addresses.front();
    std::string best, problems;
    int fewest = 0;
    for (auto const& address : addresses) {
        try {
            Connection connection(address, key, connect_patience);
            connection.send({.verb = Verb::status});
            auto const status = connection.answer().server;
            if (!needs.fits(status.all)) {
                problems += text("; ", address, " has ", status.all.gpus, " GPUs, ",
                                 status.all.cpus, " processors and ", status.all.memory,
                                 " bytes of memory, and the job needs ", needs.gpus, ", ",
                                 needs.cpus, " and ", needs.memory);
                continue;
            }
            if (status.waiting == 0 && needs.fits(status.available)) return address;
            if (best.empty() || status.waiting < fewest) {
                best = address;
                fewest = status.waiting;
            }
        } catch (Error const& problem) {
            problems += text("; ", problem.what());
        }
    }
    if (best.empty())
        throw Unavailable(
            text("none of ", addresses.size(), " servers can run the job: ", problems.substr(2)));
    return best;
}

// The output goes to descriptors that may block, and the server must be answered meanwhile.
class SubmittedJob {
public:
    SubmittedJob(RunOptions const& options, JobRequest request, wire::Secret key,
                 std::string address)
        : options_(options), request_(std::move(request)), key_(std::move(key)),
          address_(std::move(address)) {}

    int run() {
        connect(connect_patience);
        if (options_.detach) return detach();
        for (;;) {
            try {
                return follow();
            } catch (PeerLost const& problem) {
                notice(text(problem.what(), ". Connecting again"), 0);
                if (!reconnect()) return 128 + stopped_by_;
            }
        }
    }

private:
    int detach() {
        try {
            submit();
        } catch (PeerLost const&) {
            // It may have been taken; the server knows its token.
            if (!reconnect()) return 128 + stopped_by_;
            submit();
        }
        std::cout << request_.name << std::endl;
        notice(text("job ", id_, " was submitted to ", address_, ". sinew attach ", request_.name,
                    " --at ", address_, " shows its output, sinew stop ends it"),
               0);
        connection_->close();
        return 0;
    }

    void connect(Clock::duration patience) {
        writer_.reset();  // it belongs to the loop of the connection
        connection_ = nullptr;
        unwritten_ = 0;
        connection_ = std::make_unique<Connection>(address_, key_, patience);
    }

    // Returns false if a signal has ended the attempts. Throws Unavailable.
    bool reconnect() {
        for (auto const until = Clock::now() + reconnect_patience;;) {
            if (int const signal = signals_.take(); signal != 0) {
                stopped_by_ = signal;
                notice(text(::strsignal(signal), ": ", address_,
                            " cannot be reached, and ends job ", id_, " unless it is kept"),
                       -1);
                return false;
            }
            try {
                connect(1s);
                return true;
            } catch (Unavailable const& problem) {
                if (Clock::now() < until) {
                    std::this_thread::sleep_for(between_reconnects);
                    continue;
                }
                throw Unavailable(text(problem.what(), ". Job ", id_, " (", request_.name,
                                       ") may still run there"));
            }
        }
    }

    void submit() {
        connection_->send({.verb = Verb::submit, .job = request_});
        id_ = connection_->answer().id;
    }

    int follow() {
        submit();  // again after a loss: the server knows the job by its token
        connection_->send(
            {.verb = Verb::follow, .id = id_, .out = out_, .err = err_, .owner = true});
        notice(text("job ", id_, " (", request_.name, ") was submitted to ", address_), 1);
        auto& loop = connection_->loop();
        writer_ = std::make_unique<OutputWriter>(loop, [] {});
        auto const woken = loop.readable(signals_.fd(), [] {});
        for (;;) {
            auto const received = connection_->next(Clock::time_point::max(), [this] {
                return signals_.count() > 0 || output_is_lost();
            });
            if (output_is_lost()) end_without_output();
            if (signals_.count() > 0) on_signal();
            if (!received) continue;
            if (auto const* const output = std::get_if<OutputBytes>(&*received)) write(*output);
            else if (auto const& answer = std::get<ServerAnswer>(*received); on_answer(answer))
                return conclude(answer.jobs.front());
        }
    }

    // Returns whether the job has ended.
    bool on_answer(ServerAnswer const& answer) {
        if (answer.kind == Kind::error) throw Unavailable(text(address_, ": ", answer.text));
        if (answer.kind == Kind::state && answer.jobs.front().state == "waiting" &&
            !std::exchange(told_to_wait_, true))
            notice(text("job ", id_, " waits; ahead of it: ", answer.ahead), 0);
        return answer.kind == Kind::end;
    }

    void write(OutputBytes const& output) {
        bool const out = output.stream == MessageKind::out;
        auto const size = output.bytes.size();
        (out ? out_ : err_) += size;
        unwritten_ += size;
        if (unwritten_ > most_unwritten) connection_->hold(true);
        writer_->write(out ? STDOUT_FILENO : STDERR_FILENO, output.bytes, [this, size](int error) {
            if (unwritten_ > most_unwritten && unwritten_ - size <= most_unwritten)
                connection_->hold(false);
            unwritten_ -= size;
            if (error != 0) write_error_ = error;
        });
    }

    // The first signal ends the job in order, and another at once.
    void on_signal() {
        int const signal = signals_.take();
        signals_.restart_count();
        if (signal == 0) return;
        bool const again = stopped_by_ != 0;
        notice(text(::strsignal(signal), ": ending job ", id_,
                    again ? " at once" : " (again: at once)"),
               0);
        connection_->send({.verb = Verb::stop, .id = id_, .now = again});
        if (!again) stopped_by_ = signal;
    }

    bool output_is_lost() const { return write_error_ != 0 && stopped_by_ == 0; }

    // Nobody reads the output, or its disk is full.
    void end_without_output() {
        notice_loss_of_output(text(": ending job ", id_));
        connection_->send({.verb = Verb::stop, .id = id_});
    }
    void notice_loss_of_output(std::string const& consequence) {
        stopped_by_ = SIGPIPE;
        if (write_error_ != EPIPE)
            notice(text("the output cannot be written (", std::strerror(write_error_), ")",
                        consequence),
                   -1);
    }

    int conclude(JobEntry const& job) {
        SpinPolicy sleeps;
        connection_->loop().drive([this] { return writer_->idle(); }, Clock::time_point::max(),
                                  sleeps);
        bool const lost = output_is_lost();
        if (lost) notice_loss_of_output({});
        writer_.reset();
        connection_->close();
        if (!job.cause.empty()) notice(text("job ", id_, ": ", job.cause), -1);
        if (job.state == "completed" && !lost) return 0;
        if (stopped_by_ != 0) return 128 + stopped_by_;
        if (job.state == "cancelled") notice(text("job ", id_, " was cancelled"), -1);
        return job.exit_code.value_or(128 + SIGTERM);
    }

    void notice(std::string const& line, int verbosity) const {
        if (options_.verbosity >= verbosity) std::cerr << "sinew: " << line << std::endl;
    }

    RunOptions const& options_;
    JobRequest const request_;
    wire::Secret const key_;
    std::string const address_;
    Signals signals_;  // before threads are started
    std::unique_ptr<Connection> connection_;
    std::unique_ptr<OutputWriter> writer_;
    std::int64_t id_ = 0;
    std::uint64_t out_ = 0, err_ = 0;  ///< bytes that were received
    std::size_t unwritten_ = 0;
    int write_error_ = 0, stopped_by_ = 0;
    bool told_to_wait_ = false;
};

std::vector<std::string> servers_of(RunOptions const& options, wire::Secret const& key) {
    auto const& service = options.service;
    return resolve_servers(service.at, {.file = service.services, .registry = service.registry},
                           key);
}

}  // namespace

std::string unusable(RunOptions const& options) {
    if (options.service.at.empty()) return "no server is named. Say --at HOST";
    return {};
}

int run(RunOptions const& options) {
    ::signal(SIGPIPE, SIG_IGN);
    auto request = make_job_request(options);
    auto key = read_key(key_path(options.service.key));
    request.token = make_token();
    auto address = choose_server(servers_of(options, key), key, request.needs);
    return SubmittedJob(options, std::move(request), std::move(key), std::move(address)).run();
}

int plan(RunOptions const& options) {
    auto const request = make_job_request(options);
    auto const key = read_key(key_path(options.service.key));
    std::cout << "job " << request.name << ", " << request.ranks << " ranks, " << request.needs.gpus
              << " GPUs: sinew run";
    for (auto const& word : request.words) std::cout << ' ' << word;
    std::cout << "\nbackend: service\nservers:";
    for (auto const& address : servers_of(options, key)) std::cout << ' ' << address;
    std::cout << '\n';
    return 0;
}

}  // namespace sinew::launch::service
