// SPDX-License-Identifier: Apache-2.0
#include "launchers/docker/container_main.hpp"

#include <poll.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <iostream>
#include <optional>
#include <sinew/error.hpp>
#include <string_view>
#include <thread>
#include <utility>

#include "launchers/docker/container.hpp"
#include "launchers/docker/engine.hpp"
#include "launchers/docker/frames.hpp"
#include "launchers/docker/host.hpp"
#include "src/base/text.hpp"

namespace sinew::launch {
namespace {

using namespace docker;
using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

constexpr auto grace = 3s;          ///< between SIGTERM and SIGKILL
constexpr auto removal_time = 10s;  ///< for the engine to remove a container that was killed
constexpr std::size_t piece_size = std::size_t{16} << 10;

/// The signals that ask this process to end, as a descriptor.
UniqueFd catch_requests() {
    sigset_t requests;
    ::sigemptyset(&requests);
    for (int const number : {SIGTERM, SIGINT, SIGHUP}) ::sigaddset(&requests, number);
    ::sigprocmask(SIG_BLOCK, &requests, nullptr);
    return UniqueFd(::signalfd(-1, &requests, SFD_CLOEXEC | SFD_NONBLOCK));
}

void write_out(int fd, std::string_view bytes) {
    while (!bytes.empty()) {
        ssize_t const count = ::write(fd, bytes.data(), bytes.size());
        if (count > 0) bytes.remove_prefix(static_cast<std::size_t>(count));
        else if (errno != EINTR) return;  // whoever reads it is gone
    }
}

/// One container, from its creation to its removal.
class ContainerRun {
public:
    ContainerRun(ContainerSpec spec, UniqueFd requests)
        : spec_(std::move(spec)), requests_(std::move(requests)), engine_(spec_.socket) {}

    int run() {
        id_ = engine_.create(spec_);
        try {
            begin();
            while (!step()) {}
            int const code = Engine::exit_code_of(*ended_);
            drain();
            leave_network();
            return code;
        } catch (...) {
            // Its end would not be noticed.
            try {
                engine_.remove(id_);
                leave_network();
            } catch (std::exception const&) {
                // What is wrong with the engine is said by the first exception.
            }
            throw;
        }
    }

private:
    void begin() {
        stream_ = engine_.attach(id_, arrived_);
        ended_.emplace(engine_.wait_removed(id_));
        try {
            // The engine begins to answer when it watches the container.
            static_cast<void>(ended_->head(2s));
        } catch (Timeout const&) {
            // One that answers at the end only.
        }
        // Whoever has started this process may be gone already.
        if (pollfd asked{.fd = requests_.get(), .events = POLLIN, .revents = 0};
            ::poll(&asked, 1, 0) > 0)
            throw Unavailable("told to end before the container was started");
        engine_.start(id_, spec_);
        take_frames(std::exchange(arrived_, {}));
    }

    // Waits for one event. Returns whether the container has ended.
    bool step() {
        bool const reads_input = input_open_ && to_write_.empty();
        std::array<pollfd, 4> ready{
            pollfd{.fd = requests_.get(), .events = POLLIN, .revents = 0},
            pollfd{.fd = ended_->fd(), .events = POLLIN, .revents = 0},
            pollfd{.fd = stream_open_ ? stream_.get() : -1,
                   .events = static_cast<short>(POLLIN | (to_write_.empty() ? 0 : POLLOUT)),
                   .revents = 0},
            pollfd{.fd = reads_input ? STDIN_FILENO : -1, .events = POLLIN, .revents = 0}};
        int limit = -1;
        if (kill_at_) {
            auto const left =
                std::chrono::ceil<std::chrono::milliseconds>(*kill_at_ - Clock::now());
            limit = static_cast<int>(std::max<std::int64_t>(left.count(), 0));
        }
        if (::poll(ready.data(), ready.size(), limit) < 0 && errno != EINTR)
            throw SystemError("poll has failed", errno);
        if (kill_at_ && Clock::now() >= *kill_at_) kill_now();
        if (ready[0].revents != 0) on_request();
        if ((ready[2].revents & POLLOUT) != 0) send_input();
        if ((ready[2].revents & ~POLLOUT) != 0) read_output();
        if (ready[3].revents != 0) read_input();
        return ready[1].revents != 0;
    }

    void on_request() {
        signalfd_siginfo asked{};
        if (::read(requests_.get(), &asked, sizeof asked) != sizeof asked) return;
        if (std::exchange(told_to_end_, true)) return kill_now();
        signal("SIGTERM");
        kill_at_ = Clock::now() + grace;
    }

    void kill_now() {
        if (std::exchange(killed_, true))
            throw Timeout(text("the container engine has not removed ", spec_.name,
                               ", which was "
                               "killed"));
        told_to_end_ = true;
        signal("SIGKILL");
        kill_at_ = Clock::now() + removal_time;
    }

    // Whether or not the engine could do it, the container's end is waited for, within limits.
    void signal(char const* number) const {
        try {
            engine_.kill(id_, number);
        } catch (Error const& problem) {
            std::cerr << "sinew container: " << problem.what() << std::endl;
        }
    }

    void read_input() {
        std::array<char, piece_size> buffer;
        ssize_t const count = ::read(STDIN_FILENO, buffer.data(), buffer.size());
        if (count < 0 && errno == EINTR) return;
        if (count > 0) to_write_.assign(buffer.data(), static_cast<std::size_t>(count));
        else input_open_ = false;
        send_input();
    }

    void send_input() {
        while (!to_write_.empty()) {
            ssize_t const count = ::send(stream_.get(), to_write_.data(), to_write_.size(),
                                         MSG_NOSIGNAL | MSG_DONTWAIT);
            if (count > 0) to_write_.erase(0, static_cast<std::size_t>(count));
            else if (errno == EAGAIN) return;
            else if (errno != EINTR) to_write_.clear();  // it reads no more
        }
        if (!input_open_) ::shutdown(stream_.get(), SHUT_WR);
    }

    void read_output() {
        std::array<char, piece_size> buffer;
        ssize_t const count = ::recv(stream_.get(), buffer.data(), buffer.size(), MSG_DONTWAIT);
        if (count > 0) take_frames({buffer.data(), static_cast<std::size_t>(count)});
        else if (count == 0 || (errno != EAGAIN && errno != EINTR)) stream_open_ = false;
    }

    void take_frames(std::string_view bytes) {
        frames_.feed(bytes, [](FrameParser::Stream stream, std::string_view piece) {
            write_out(stream == FrameParser::Stream::out ? STDOUT_FILENO : STDERR_FILENO, piece);
        });
    }

    // What the container wrote last may come after the news of its end.
    void drain() {
        for (auto const until = Clock::now() + 1s; stream_open_ && Clock::now() < until;) {
            pollfd ready{.fd = stream_.get(), .events = POLLIN, .revents = 0};
            if (::poll(&ready, 1, 200) > 0) read_output();
        }
    }

    // The owner removes the network; if it was killed, the last of its containers' processes does.
    void leave_network() {
        if (!spec_.removes_network || !owner_is_gone()) return;
        // The engine takes a moment to let go of a container.
        for (int attempt = 0; attempt < 20 && !engine_.remove_network(spec_.network); ++attempt)
            std::this_thread::sleep_for(100ms);
    }

    // A process that is killed closes its end of our standard error before it counts as ended.
    bool owner_is_gone() const {
        pollfd errors{.fd = STDERR_FILENO, .events = 0, .revents = 0};
        if (::poll(&errors, 1, 0) > 0 && (errors.revents & POLLERR) != 0) return true;
        auto const owner = spec_.labels.find(owner_label);
        return owner != spec_.labels.end() && has_ended(owner->second);
    }

    ContainerSpec const spec_;
    UniqueFd const requests_;
    Engine const engine_;
    std::string id_, arrived_, to_write_;
    UniqueFd stream_;
    std::optional<HttpConnection> ended_;
    FrameParser frames_;
    bool stream_open_ = true, input_open_ = true, told_to_end_ = false, killed_ = false;
    std::optional<Clock::time_point> kill_at_;
};

}  // namespace

int container_main(std::vector<std::string> const& arguments) {
    if (arguments.size() != 1 || arguments.front().starts_with('-')) {
        std::cout << "sinew container SPEC\n\nRuns a container. It is started by sinew run "
                     "--backend docker.\n";
        return 0;
    }
    ::signal(SIGPIPE, SIG_IGN);
    auto requests = catch_requests();
    return ContainerRun(parse_spec(arguments.front()), std::move(requests)).run();
}

}  // namespace sinew::launch
