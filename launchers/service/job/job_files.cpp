// SPDX-License-Identifier: Apache-2.0
#include "launchers/service/job/job_files.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <filesystem>
#include <sinew/error.hpp>
#include <span>

#include "launchers/common/flat_json.hpp"
#include "launchers/common/timestamp.hpp"
#include "launchers/service/json_fields.hpp"
#include "src/base/scope_exit.hpp"
#include "src/base/system/io.hpp"

namespace sinew::launch::service {
namespace {

constexpr std::size_t record_room = 4096;
constexpr std::size_t longest_cause = 1024;
constexpr std::array phase_names{"acquiring", "running", "ended"};

UniqueFd open_file(std::string const& path, int flags) {
    UniqueFd file(::open(path.c_str(), flags | O_CLOEXEC, 0600));
    if (!file) throw_errno(text(path, " cannot be opened"));
    return file;
}

void write_bytes(std::string const& path, std::string const& bytes) {
    auto const file = open_file(path, O_WRONLY | O_CREAT | O_TRUNC);
    if (!write_all(file.get(), std::as_bytes(std::span(bytes))))
        throw_errno(text(path, " cannot be written"));
}

std::string read_bytes(int fd, std::string const& path) {
    std::string bytes;
    std::array<std::byte, 16384> piece;
    for (;;) {
        ssize_t const count = read_all(fd, piece);
        if (count < 0) throw_errno(text(path, " cannot be read"));
        bytes.append(reinterpret_cast<char const*>(piece.data()), static_cast<std::size_t>(count));
        if (static_cast<std::size_t>(count) < piece.size()) return bytes;
    }
}

}  // namespace

std::string to_json(SupervisorRecord const& record) {
    return one_line({{"phase", phase_names[static_cast<std::size_t>(record.phase)]},
                     {"pid", record.pid},
                     {"process_start", record.process_start},
                     {"gpus", record.gpus},
                     {"started_ms", milliseconds_of(record.started)},
                     {"ended_ms", milliseconds_of(record.ended)},
                     {"exit_code", record.exit_code},
                     {"timed_out", record.timed_out},
                     {"cause", record.cause.substr(0, longest_cause)}});
}

std::optional<SupervisorRecord> parse_supervisor_record(std::string const& bytes) {
    using Time = std::chrono::system_clock::time_point;
    constexpr std::int64_t latest = 7'258'118'400'000;  // the year 2200, in ms
    try {
        auto const json = parse_flat_json(bytes);
        SupervisorRecord record;
        auto const phase = text_field(json, "phase", record_room);
        std::size_t index = 0;
        while (index < phase_names.size() && phase != phase_names[index]) ++index;
        if (index == phase_names.size()) return std::nullopt;
        record.phase = static_cast<SupervisorRecord::Phase>(index);
        record.pid = static_cast<pid_t>(number_field(json, "pid", 1, 0x7fffffff));
        record.process_start =
            static_cast<std::uint64_t>(number_field(json, "process_start", 0, INT64_MAX));
        record.gpus = text_field(json, "gpus", record_room);
        record.started =
            Time(std::chrono::milliseconds(number_field(json, "started_ms", 0, latest)));
        record.ended = Time(std::chrono::milliseconds(number_field(json, "ended_ms", 0, latest)));
        record.exit_code = static_cast<int>(number_field(json, "exit_code", 0, 255));
        record.timed_out = json.at("timed_out").get<bool>();
        record.cause = text_field(json, "cause", record_room);
        return record;
    } catch (Json::exception const&) {
        return std::nullopt;
    } catch (UsageError const&) {
        return std::nullopt;
    }
}

void JobFiles::create(JobRequest const& request) const {
    if (::mkdir(path_.c_str(), 0700) != 0) throw_errno(text(path_, " cannot be created"));
    bool complete = false;
    ScopeExit const undo([&] {
        if (!complete) remove();
    });
    write_bytes(path_ + "/request", to_json(request));
    clear_record();
    for (auto const& path : {out(), err(), path_ + "/lock"}) write_bytes(path, "");
    complete = true;
}

void JobFiles::remove() const noexcept {
    std::error_code failed;  // what is left is removed by the next server
    std::filesystem::remove_all(path_, failed);
}

UniqueFd JobFiles::lock() const {
    auto const path = path_ + "/lock";
    auto file = open_file(path, O_RDWR);
    if (::flock(file.get(), LOCK_EX | LOCK_NB) != 0) throw_errno(text(path, " cannot be locked"));
    return file;
}

bool JobFiles::is_unlocked() const {
    UniqueFd const file(::open((path_ + "/lock").c_str(), O_RDWR | O_CLOEXEC));
    if (!file) return errno == ENOENT;
    return ::flock(file.get(), LOCK_EX | LOCK_NB) == 0;
}

JobRequest JobFiles::request() const {
    auto const path = path_ + "/request";
    return parse_job_request(read_bytes(open_file(path, O_RDONLY).get(), path));
}

void JobFiles::clear_record() const {
    write_bytes(path_ + "/record", std::string(record_room, ' '));
}

void JobFiles::write(SupervisorRecord const& record) const {
    auto const path = path_ + "/record";
    auto bytes = to_json(record);
    bytes.resize(record_room, ' ');
    // In place: neither blocks of the disk nor another name are needed.
    auto const file = open_file(path, O_WRONLY);
    if (!write_all(file.get(), std::as_bytes(std::span(bytes))))
        throw_errno(text(path, " cannot be written"));
}

std::optional<SupervisorRecord> JobFiles::record() const {
    auto const path = path_ + "/record";
    UniqueFd const file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (!file && errno == ENOENT) return std::nullopt;
    if (!file) throw_errno(text(path, " cannot be opened"));
    return parse_supervisor_record(read_bytes(file.get(), path));
}

}  // namespace sinew::launch::service
