// SPDX-License-Identifier: Apache-2.0
#include "launchers/job/first_cause.hpp"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <iomanip>
#include <nlohmann/json.hpp>
#include <sstream>

#include "launchers/common/exit_codes.hpp"
#include "src/base/text.hpp"

namespace sinew::launch {

namespace {

std::string signal_text(int signal) {
    char const* const known = ::strsignal(signal);
    return text("signal ", signal, " (", known != nullptr ? known : "unknown", ")");
}

/// The exit code of a shell for the same error of exec.
int code_of_start(int error) {
    switch (error) {
        case ENOENT:
        case ENOTDIR:
        case ELOOP:
        case ENAMETOOLONG:
            return exit_not_found;
        case EACCES:
        case EPERM:
        case ENOEXEC:
        case EISDIR:
        case ETXTBSY:
            return exit_not_executable;
        default:
            return exit_launcher_failed;
    }
}

/// A failure must not become exit code 0, whatever code a program reports.
int nonzero(int code) {
    int const low = code & 0xff;
    return low == 0 ? 1 : low;
}

}  // namespace

// Only the first failure reported for a rank counts; later ones are its consequences.
void FirstCause::add(Event event) {
    if (event.who.rank >= 0) {
        auto const [known, is_new] = of_rank_.try_emplace(event.who.rank, events_.size());
        auto& before = is_new ? event : events_[known->second];
        if (!is_new && before.part != Part::success) {
            if (before.who.pid == 0) before.who.pid = event.who.pid;
            return;
        }
        known->second = events_.size();
    }
    if (event.part == Part::failure) {
        ++failures_;
        if (first_ == nothing) first_ = events_.size();
    }
    events_.push_back(std::move(event));
    blame_deserter();
}

void FirstCause::blame_deserter() {
    if (first_ == nothing) return;
    auto const& first = events_[first_];
    bool const may_be_a_victim = (first.kind == Kind::exited && first.number != 0) ||
                                 (first.kind == Kind::signalled && first.number == SIGABRT);
    if (!may_be_a_victim) return;
    for (std::size_t at = 0; at < events_.size(); ++at) {
        auto& event = events_[at];
        if (!event.deserted || event.part != Part::success) continue;
        event.part = Part::failure;
        ++failures_;
        first_ = at;
        return;
    }
}

void FirstCause::rank_ended(Who const& who, End const& end) {
    bool const well = end.signal == 0 && end.code == 0 && !end.unfinished;
    Part const part = well ? Part::success : end.stopped ? Part::victim : Part::failure;
    bool const by_signal = end.signal != 0;
    add({by_signal ? Kind::signalled : Kind::exited, part, who, by_signal ? end.signal : end.code,
         end.unfinished, end.detail, well && end.in_world && !end.stopped});
}

void FirstCause::rank_aborted(Who const& who, int status, std::string const& message) {
    add({Kind::aborted, Part::failure, who, status, false, message});
}

void FirstCause::rank_not_started(Who const& who, int error, std::string const& step) {
    add({Kind::not_started, Part::failure, who, error, false, step});
}

// Records the loss of a node once: after its agent's report the end of its connection adds nothing.
void FirstCause::node_lost(std::string const& node, std::string const& why) {
    for (auto const& event : events_)
        if (event.kind == Kind::lost && event.who.node == node && event.who.rank < 0) return;
    add_own(Kind::lost, 0, why, node);
}

void FirstCause::launcher_failed(std::string const& why) { add_own(Kind::launcher, 0, why); }

void FirstCause::timed_out(std::string const& limit) { add_own(Kind::timeout, 0, limit); }

void FirstCause::interrupted(int signal, std::string const& node) {
    add_interrupt(signal, "told to end by " + signal_text(signal), node);
}

void FirstCause::stopped(std::string const& by) {
    add_interrupt(SIGTERM, text("stopped by sinew stop (", by, ")"));
}

void FirstCause::add_interrupt(int signal, std::string const& how, std::string const& node) {
    for (auto const& event : events_)
        if (event.kind == Kind::interrupt) return;  // repeated ones count once
    add_own(Kind::interrupt, signal, how, node);
}

// Adds a failure that does not belong to a rank.
void FirstCause::add_own(Kind kind, int number, std::string const& detail,
                         std::string const& node) {
    Event event;
    event.kind = kind;
    event.who.node = node;
    event.number = number;
    event.detail = detail;
    add(std::move(event));
}

int FirstCause::exit_code() const {
    if (!failed()) return 0;
    auto const& first = events_[first_];
    switch (first.kind) {
        case Kind::exited:
        case Kind::aborted:
            return nonzero(first.number);
        case Kind::signalled:
        case Kind::interrupt:
            return 128 + first.number;
        case Kind::not_started:
            return code_of_start(first.number);
        case Kind::timeout:
            return exit_timeout;
        case Kind::lost:
        case Kind::launcher:
            break;
    }
    return exit_launcher_failed;
}

char const* FirstCause::name(Kind kind) {
    switch (kind) {
        case Kind::exited:
            return "exit";
        case Kind::signalled:
            return "signal";
        case Kind::aborted:
            return "abort";
        case Kind::not_started:
            return "not started";
        case Kind::lost:
            return "node lost";
        case Kind::launcher:
            return "launcher";
        case Kind::timeout:
            return "timeout";
        case Kind::interrupt:
            return "interrupt";
    }
    return "unknown";
}

std::string FirstCause::what(Event const& event) {
    auto const& detail = event.detail;
    std::string const more = detail.empty() ? "" : ": " + detail;
    std::string const after = event.part == Part::victim ? ", after it was told to end" : "";
    switch (event.kind) {
        case Kind::exited:
            if (event.part == Part::success) return "exited with code 0";
            if (event.deserted)
                return "exited with code 0 in the middle of its World, which the others needed";
            return text("exited with code ", event.number,
                        event.unfinished ? ", without MPI_Finalize" : "", after, more);
        case Kind::signalled:
            return text("killed by ", signal_text(event.number), after, more);
        case Kind::aborted:
            return text("called MPI_Abort with status ", event.number, more);
        case Kind::not_started:
            return text("could not be started: ", detail, " (", std::strerror(event.number), ")");
        case Kind::lost:
            return "lost" + more;
        case Kind::launcher:
            return detail;
        case Kind::timeout:
            return "not finished within " + detail;
        case Kind::interrupt:
            return detail;
    }
    return {};
}

std::string FirstCause::where(Event const& event) {
    if (event.who.rank < 0) return event.who.node.empty() ? "sinew run" : event.who.node;
    std::string const pid = event.who.pid > 0 ? text(" (pid ", event.who.pid, ")") : "";
    return text("rank ", event.who.rank, " on ", event.who.node, pid);
}

std::string FirstCause::summary() const {
    if (!failed()) return {};
    auto const& first = events_[first_];
    auto const cause = text(where(first), ": ", what(first));
    if (failures_ == 1) return cause;
    // What fails after the loss of a node fails because of it, for all that is known.
    auto const more = failures_ - 1;
    if (first.kind == Kind::lost)
        return text(cause, " (then ", more, more == 1 ? " failure" : " failures", " elsewhere)");
    return text(cause, ", first of ", failures_, " failures");
}

// Indices of events_: the ranks' events by rank, then the others in the order of arrival.
std::vector<std::size_t> FirstCause::by_rank() const {
    std::vector<std::size_t> order;
    for (auto const& [rank, at] : of_rank_) order.push_back(at);
    for (std::size_t at = 0; at < events_.size(); ++at)
        if (events_[at].who.rank < 0) order.push_back(at);
    return order;
}

std::string FirstCause::table() const {
    std::size_t node_width = 4;
    for (auto const& event : events_) node_width = std::max(node_width, event.who.node.size());
    auto const wide = static_cast<int>(node_width);
    std::ostringstream out;
    out << "  rank  " << std::left << std::setw(wide) << "node"
        << "      pid  end\n";
    for (auto const at : by_rank()) {
        auto const& event = events_[at];
        out << (at == first_ ? "> " : "  ") << std::right << std::setw(4);
        if (event.who.rank >= 0) out << event.who.rank;
        else out << "-";
        out << "  " << std::left << std::setw(wide)
            << (event.who.node.empty() ? "-" : event.who.node) << "  " << std::right
            << std::setw(7);
        if (event.who.pid > 0) out << event.who.pid;
        else out << "-";
        out << "  " << what(event) << '\n';
    }
    return out.str();
}

std::string FirstCause::json() const {
    static constexpr char const* parts[] = {"success", "failure", "victim"};
    auto ends = nlohmann::ordered_json::array();
    for (auto const at : by_rank()) {
        auto const& event = events_[at];
        nlohmann::ordered_json end{{"kind", name(event.kind)},
                                   {"part", parts[static_cast<std::size_t>(event.part)]},
                                   {"first", at == first_},
                                   {"text", what(event)}};
        if (event.who.rank >= 0) end["rank"] = event.who.rank;
        if (!event.who.node.empty()) end["node"] = event.who.node;
        if (event.who.pid > 0) end["pid"] = event.who.pid;
        if (event.kind == Kind::exited) end["code"] = event.number;
        if (event.kind == Kind::signalled) end["signal"] = event.number;
        if (event.kind == Kind::aborted) end["status"] = event.number;
        if (event.kind == Kind::not_started) end["errno"] = event.number;
        ends.push_back(std::move(end));
    }
    nlohmann::ordered_json const all{{"exit_code", exit_code()},
                                     {"failures", failures_},
                                     {"summary", summary()},
                                     {"ends", std::move(ends)}};
    // The text of a program need not be UTF-8.
    return all.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace sinew::launch
