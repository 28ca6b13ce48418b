// SPDX-License-Identifier: Apache-2.0
#include "launchers/service/dashboard/recent_output.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <string_view>

#include "src/base/system/unique_fd.hpp"

namespace sinew::launch::service {
namespace {

constexpr std::size_t most_jobs_at_a_time = 64;
constexpr std::uint64_t longest_piece = std::uint64_t{16} << 10;
/// What is shown of a file that was not read before.
constexpr std::uint64_t longest_beginning = std::uint64_t{2} << 10;

}  // namespace

void RecentOutput::add(std::int64_t id, std::string const& name, JobFiles const& files) {
    jobs_.try_emplace(id, Job{.name = name, .files = {File{files.out()}, File{files.err()}}});
}

void RecentOutput::end(std::int64_t id) {
    if (auto const at = jobs_.find(id); at != jobs_.end()) at->second.ended = true;
}

void RecentOutput::update(dashboard::State& state, bool is_watched, dashboard::Time now) {
    if (is_watched) {
        auto at = jobs_.lower_bound(next_);
        for (auto left = std::min(jobs_.size(), most_jobs_at_a_time); left > 0; --left) {
            if (at == jobs_.end()) at = jobs_.begin();
            auto& [id, job] = *at++;
            copy(state, job, job.files[0], 1, now);
            copy(state, job, job.files[1], 2, now);
            next_ = id + 1;
        }
    }
    std::erase_if(jobs_, [](auto const& each) { return each.second.ended; });
}

// Copies whole lines, and a part of one only if it is very long or the job has ended.
void RecentOutput::copy(dashboard::State& state, Job const& job, File& file, int stream,
                        dashboard::Time now) {
    struct ::stat about {};
    if (::stat(file.path.c_str(), &about) != 0) return;
    auto const size = static_cast<std::uint64_t>(about.st_size);
    auto const longest = file.offset ? longest_piece : longest_beginning;
    auto begin = file.offset.value_or(0);
    if (begin >= size) {
        file.offset = size;
        return;
    }
    bool const skips = size - begin > longest;
    if (skips) begin = size - longest;
    UniqueFd const input(::open(file.path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
    std::string bytes(static_cast<std::size_t>(size - begin), '\0');
    ssize_t const count =
        input ? ::pread(input.get(), bytes.data(), bytes.size(), static_cast<off_t>(begin)) : -1;
    if (count <= 0) return;
    auto text = std::string_view(bytes).substr(0, static_cast<std::size_t>(count));
    auto const end = text.rfind('\n');
    if (!job.ended && end != text.npos) text = text.substr(0, end + 1);
    else if (!job.ended && text.size() < dashboard::State::most_line) return;  // it may go on
    file.offset = begin + text.size();
    // What was skipped ends within a line.
    if (auto const line = text.find('\n'); skips && line != text.npos) text.remove_prefix(line + 1);
    if (!text.empty()) state.add_job_output(job.name, stream, text, now);
}

}  // namespace sinew::launch::service
