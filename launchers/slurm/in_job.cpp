// SPDX-License-Identifier: Apache-2.0
#include "launchers/slurm/in_job.hpp"

#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <sinew/error.hpp>

#include "launchers/common/own_path.hpp"
#include "launchers/common/shell_quoted.hpp"
#include "launchers/program/program_kind.hpp"
#include "src/base/system/spawn.hpp"
#include "src/base/text.hpp"

namespace sinew::launch::slurm {
namespace {

// What one stream has brought and is not a whole line yet.
class Stream {
public:
    Stream(UniqueFd fd, std::function<void(std::string_view)> const& sink)
        : fd_(std::move(fd)), sink_(sink) {}
    int fd() const { return fd_.get(); }

    void read() {
        std::array<char, 16384> buffer;
        ssize_t const count = ::read(fd_.get(), buffer.data(), buffer.size());
        if (count < 0 && (errno == EINTR || errno == EAGAIN)) return;
        if (count > 0) rest_.append(buffer.data(), static_cast<std::size_t>(count));
        std::size_t begin = 0;
        for (auto end = rest_.find('\n'); end != rest_.npos; end = rest_.find('\n', begin)) {
            sink_(std::string_view(rest_).substr(begin, end - begin));
            begin = end + 1;
        }
        rest_.erase(0, begin);
        if (count > 0) return;
        if (!rest_.empty()) sink_(rest_);
        fd_ = {};
    }

private:
    UniqueFd fd_;
    std::function<void(std::string_view)> const& sink_;
    std::string rest_;
};

}  // namespace

Words step_words(std::vector<std::string> const& hosts, std::string const& job) {
    auto const count = std::to_string(hosts.size());
    std::string list;
    for (auto const& host : hosts) list += (list.empty() ? "" : ",") + host;
    // What the job says of its tasks, srun would take for this step; and what describes this node.
    Words words{"env"};
    for (auto const* name :
         {"SINEW_GPU_SCOPE", "SINEW_PLACE", "SLURM_CPUS_PER_TASK", "SLURM_DISTRIBUTION",
          "SLURM_EXCLUSIVE", "SLURM_GPU_BIND", "SLURM_GPUS_PER_SOCKET", "SLURM_GPUS_PER_TASK",
          "SLURM_HINT", "SLURM_MEM_BIND", "SLURM_NTASKS_PER_CORE", "SLURM_NTASKS_PER_GPU",
          "SLURM_NTASKS_PER_SOCKET", "SLURM_THREADS_PER_CORE", "SLURM_TRES_PER_TASK"})
        words.push_back(text("--unset=", name));
    words.emplace_back("srun");
    if (!job.empty()) words.push_back("--jobid=" + job);
    for (auto const& word :
         {"--nodes=" + count, "--ntasks=" + count, std::string("--ntasks-per-node=1"),
          "--nodelist=" + list, std::string("--overlap"), std::string("--whole"),
          std::string("--cpu-bind=none"), std::string("--mpi=none"), std::string("--export=ALL"),
          std::string("--quiet")})
        words.push_back(word);
    return words;
}

Words sinew_words(Words const& arguments) {
    auto script =
        text("p=", shell_quoted(own_path()), "; [ -x \"$p\" ] || p=sinew; exec \"$p\" \"$@\"");
    Words words{"sh", "-c", std::move(script), "sinew"};
    words.insert(words.end(), arguments.begin(), arguments.end());
    return words;
}

int run_by_line(Words const& words, LineSinks const& sinks) {
    char const* const path = ::getenv("PATH");
    auto const program = find_program(words.front(), "", path != nullptr ? path : "");
    if (program.error != 0)
        throw SystemError(text(words.front(), " cannot be executed (", std::strerror(program.error),
                               "). Debian: apt-get install slurm-client"),
                          program.error);
    auto [out, out_end] = make_pipe();
    auto [err, err_end] = make_pipe();
    SpawnRequest request;
    request.path = program.path;
    request.argv = words;
    for (char** each = ::environ; *each != nullptr; ++each) request.env.emplace_back(*each);
    request.out = out_end.get();
    request.err = err_end.get();
    request.death_signal = SIGTERM;
    auto const spawned = spawn(request);
    if (spawned.error != 0)
        throw SystemError(text(words.front(), " cannot be started (", spawned.step, ": ",
                               std::strerror(spawned.error), ")"),
                          spawned.error);
    out_end = {};
    err_end = {};
    std::array<Stream, 2> streams{Stream(std::move(out), sinks.out),
                                  Stream(std::move(err), sinks.err)};
    while (streams[0].fd() >= 0 || streams[1].fd() >= 0) {
        std::array<pollfd, 2> ready{};
        for (std::size_t i = 0; i < 2; ++i)
            ready[i] = {.fd = streams[i].fd(), .events = POLLIN, .revents = 0};
        if (::poll(ready.data(), ready.size(), -1) < 0) continue;
        for (std::size_t i = 0; i < 2; ++i)
            if (ready[i].revents != 0) streams[i].read();
    }
    int status = 0;
    while (::waitpid(spawned.pid, &status, 0) < 0 && errno == EINTR) {}
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

}  // namespace sinew::launch::slurm
