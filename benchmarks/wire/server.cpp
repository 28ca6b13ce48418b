// SPDX-License-Identifier: Apache-2.0
#include "benchmarks/wire/server.hpp"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <stdexcept>

namespace sinew::bench {

Server::Server(Serve const& serve) {
    std::array<int, 2> ends{};
    if (::pipe2(ends.data(), O_CLOEXEC) != 0) throw std::runtime_error("a pipe cannot be created");
    pid_ = ::fork();
    if (pid_ < 0) throw std::runtime_error("a process cannot be started");
    if (pid_ == 0) {
        ::prctl(PR_SET_PDEATHSIG, SIGKILL);
        ::close(ends[0]);
        try {
            serve([&](std::string const& words) {
                if (::write(ends[1], words.data(), words.size()) < 0) ::_exit(1);
                ::close(ends[1]);
            });
        } catch (std::exception const& problem) {
            std::fprintf(stderr, "server: %s\n", problem.what());
        }
        ::_exit(1);
    }
    ::close(ends[1]);
    std::array<char, 512> buffer;
    for (ssize_t got; (got = ::read(ends[0], buffer.data(), buffer.size())) > 0;)
        told_.append(buffer.data(), static_cast<std::size_t>(got));
    ::close(ends[0]);
}

Server::~Server() {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
}

SocketFolder::SocketFolder() {
    path_ = (std::filesystem::temp_directory_path() / "sinew-bench-XXXXXX").string();
    if (::mkdtemp(path_.data()) == nullptr)
        throw std::runtime_error("cannot create the folder " + path_);
}

SocketFolder::~SocketFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
}

}  // namespace sinew::bench
