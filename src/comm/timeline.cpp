// SPDX-License-Identifier: Apache-2.0
#include <sinew/comm/timeline.hpp>

#include <algorithm>
#include <array>
#include <cstdio>
#include <fstream>
#include <map>
#include <string>
#include <system_error>
#include <utility>

#include <sinew/error.hpp>

#include "src/base/text.hpp"
#include "src/comm/black_box/timeline_recorder.hpp"
#include "src/comm/communicator_state.hpp"

namespace sinew {

namespace {

using detail::OperationLog;
using detail::TimelineRecorder;

std::int64_t clock_now() { return static_cast<std::int64_t>(OperationLog::now()); }

/// A string of JSON. Bytes that are not printable ASCII become '?'.
std::string json_string(std::string_view words) {
    std::string all = "\"";
    for (char const c : words) {
        if (c == '"' || c == '\\') all += '\\';
        all += c >= ' ' && c <= '~' ? c : '?';
    }
    return all + '"';
}

/// Microseconds with three digits, which do not depend on the locale.
std::string microseconds(std::int64_t nanoseconds) {
    std::array<char, 40> digits;
    bool const negative = nanoseconds < 0;
    std::int64_t const size = negative ? -nanoseconds : nanoseconds;
    std::snprintf(digits.data(), digits.size(), "%s%lld.%03lld", negative ? "-" : "",
                  static_cast<long long>(size / 1000), static_cast<long long>(size % 1000));
    return digits.data();
}

std::string metadata(char const* kind, int rank, std::size_t track, std::string const& name) {
    return text(R"({"name":")", kind, R"(","ph":"M","pid":)", rank, R"(,"tid":)", track,
                R"(,"args":{"name":)", json_string(name), "}},\n");
}

/// What is added to this rank's clock to get rank 0's: from the shortest of some round trips.
std::int64_t measure_offset(Communicator& comm) {
    constexpr int trips = 10;
    std::int64_t best = 0, shortest = -1, theirs = 0;
    std::span<std::int64_t> const message(&theirs, 1);
    for (int rank = 1; rank < comm.size(); ++rank) {
        for (int trip = 0; trip < trips; ++trip) {
            if (comm.rank() == 0) {
                comm.recv(message, rank);
                theirs = clock_now();
                comm.send(message, rank);
            } else if (comm.rank() == rank) {
                std::int64_t const sent = clock_now();
                comm.send(message, 0);
                comm.recv(message, 0);
                std::int64_t const trip_time = clock_now() - sent;
                if (shortest >= 0 && trip_time >= shortest) continue;
                shortest = trip_time;
                best = theirs - (sent + trip_time / 2);
            }
        }
    }
    return best;
}

/// Writes the file as a whole or not at all. Returns the reason if it could not.
std::string write_whole(std::filesystem::path const& file, std::string_view content) {
    std::filesystem::path const part = file.string() + ".part";
    std::ofstream out(part, std::ios::binary | std::ios::trunc);
    out << content;
    out.close();
    std::error_code error;
    if (out) std::filesystem::rename(part, file, error);
    if (out && !error) return {};
    std::error_code ignored;
    std::filesystem::remove(part, ignored);
    return text(file.string(), " cannot be written", error ? ": " + error.message() : "",
                ". Does its folder exist, and may you write there?");
}

}  // namespace

class Timeline::State {
public:
    State(Communicator& comm, std::filesystem::path file)
        : file_(std::move(file)), messages_(comm.dup()), recorded_(comm.state().weak_from_this()),
          recorder_(std::make_shared<TimelineRecorder>()), start_(clock_now()) {
        if (!comm.state().set_timeline(recorder_))
            throw UsageError(text("Timeline: rank ", comm.rank(), " of ", comm.size(), " on ",
                                  comm.nodes().host_of(comm.rank()),
                                  ": the communicator has a Timeline already (SINEW_TIMELINE makes "
                                  "one). Use that one"));
    }
    State(State const&) = delete;
    State& operator=(State const&) = delete;
    ~State() {
        if (auto const comm = recorded_.lock()) comm->set_timeline(nullptr);
    }

    void write();

private:
    std::string events(std::int64_t to_common) const;

    std::filesystem::path file_;
    Communicator messages_;
    std::weak_ptr<detail::CommunicatorState> recorded_;
    std::shared_ptr<TimelineRecorder> recorder_;
    std::int64_t start_;
};

/// This rank's events; `to_common` is added to its times.
std::string Timeline::State::events(std::int64_t to_common) const {
    int const rank = messages_.rank();
    std::string all = metadata("process_name", rank, 0,
                               text("rank ", rank, " on ", messages_.nodes().host_of(rank)));
    std::map<std::string, std::size_t> tracks;
    for (auto const& event : recorder_->events()) {
        auto const [track, is_new] = tracks.try_emplace(event.track, tracks.size());
        if (is_new) all += metadata("thread_name", rank, track->second, event.track);
        all +=
            text(R"({"name":)", json_string(event.name), R"(,"cat":"sinew","ph":"X","pid":)", rank,
                 R"(,"tid":)", track->second, R"(,"ts":)", microseconds(event.begin + to_common),
                 R"(,"dur":)", microseconds(event.end - event.begin), "},\n");
    }
    return all;
}

void Timeline::State::write() {
    auto const ranks = static_cast<std::size_t>(messages_.size());
    auto const self = static_cast<std::size_t>(messages_.rank());
    std::int64_t const offset = measure_offset(messages_);
    std::int64_t const zero = messages_.allreduce_value(start_ + offset, min);
    std::string const mine = events(offset - zero);

    // Of each rank: bytes of its events, events that were dropped, offset of its clock.
    std::vector<std::uint64_t> numbers(3 * ranks);
    numbers[3 * self] = mine.size();
    numbers[3 * self + 1] = recorder_->dropped();
    numbers[3 * self + 2] = static_cast<std::uint64_t>(offset);
    messages_.allgather(Buffer(numbers));
    std::vector<std::size_t> bytes(ranks);
    std::size_t total = 0;
    for (std::size_t rank = 0; rank < ranks; ++rank) total += bytes[rank] = numbers[3 * rank];
    std::string all(self == 0 ? total : 0, '\0');
    messages_.gatherv(ConstBuffer(mine.data(), mine.size(), DataType::Kind::u8),
                      Buffer(all.data(), all.size(), DataType::Kind::u8), bytes, 0);

    std::string reason;
    if (self == 0) {
        std::string content = "{\"traceEvents\":[\n" + all;
        content.resize(content.size() - 2);  // after the last event there is no comma
        content += "\n],\n\"displayTimeUnit\":\"ms\",\n\"otherData\":{\"ranks\":[\n";
        for (std::size_t rank = 0; rank < ranks; ++rank)
            content += text(rank == 0 ? "" : ",\n", R"({"rank":)", rank, R"(,"clock_offset_ns":)",
                            static_cast<std::int64_t>(numbers[3 * rank + 2]),
                            R"(,"dropped_events":)", numbers[3 * rank + 1], '}');
        reason = write_whole(file_, content + "\n]}}\n");
    }
    std::uint64_t failed = reason.empty() ? 0 : 1;
    messages_.broadcast(std::span<std::uint64_t>(&failed, 1), 0);
    if (failed == 0) return;
    std::string const where =
        text("Timeline: rank 0 of ", ranks, " on ", messages_.nodes().host_of(0));
    throw Error(self == 0 ? text(where, ": ", reason)
                          : text(where, " could not write the file. Its own error says why"));
}

Timeline::Timeline(Communicator& comm, std::filesystem::path file)
    : state_(std::make_unique<State>(comm, std::move(file))) {}
Timeline::Timeline(Timeline&&) noexcept = default;
Timeline& Timeline::operator=(Timeline&&) noexcept = default;
Timeline::~Timeline() = default;
void Timeline::write() { state_->write(); }

}  // namespace sinew
