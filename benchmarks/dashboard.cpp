// SPDX-License-Identifier: Apache-2.0
// What a dashboard costs: the throughput of a pool of tasks that do nothing, under `sinew run` without a page, and with one
// that a reader follows, in turns. See --help.
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <boost/program_options.hpp>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <iomanip>
#include <iostream>
#include <memory>
#include <sinew/init.hpp>
#include <sinew/pool.hpp>
#include <stdexcept>
#include <thread>

#include "benchmarks/support/program.hpp"
#include "benchmarks/support/statistics.hpp"

extern char** environ;

namespace sinew::bench {
namespace {

namespace options = boost::program_options;
using Clock = std::chrono::steady_clock;

struct Options {
    int rounds = 7, workers = 2;
    double seconds = 3;
};

std::uint64_t nothing(std::uint64_t task) { return task; }

// In the job: prints the number of tasks per second.
void measure(Options const& wanted) {
    Pool pool(wanted.workers, {.progress = Progress::off});
    constexpr std::uint64_t batch = 20'000;
    auto const tasks = range(std::uint64_t{0}, batch);
    auto const single =
        pool.with({.chunk = 1});  // a message for each task: the master has most to do
    for (int i = 0; i < 4; ++i)
        single.map<nothing>(tasks);  // workers start, and learn how long tasks take
    std::uint64_t done = 0;
    auto const begin = Clock::now();
    std::chrono::duration<double> passed{};
    while (passed.count() < wanted.seconds) {
        single.map<nothing>(tasks);
        done += batch;
        passed = Clock::now() - begin;
    }
    std::cout << "rate " << static_cast<double>(done) / passed.count() << std::endl;
}

/// Reads all that the event stream of a dashboard brings, as a page does.
class Reader {
public:
    /// `address`: as it was printed.
    explicit Reader(std::string const& address) {
        auto const colon = address.rfind(':', address.find("/#"));
        auto const port = static_cast<std::uint16_t>(std::stoi(address.substr(colon + 1)));
        auto const token = address.substr(address.find("#token=") + 7);
        fd_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        sockaddr_in to{};
        to.sin_family = AF_INET;
        to.sin_port = htons(port);
        to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        if (::connect(fd_, reinterpret_cast<sockaddr*>(&to), sizeof to) != 0)
            throw std::runtime_error("the dashboard does not answer");
        auto const request = "GET /events HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer " +
                             token + "\r\n\r\n";
        if (::send(fd_, request.data(), request.size(), MSG_NOSIGNAL) < 0)
            throw std::runtime_error("the dashboard has hung up");
        thread_ = std::thread([this] {
            std::array<char, 65536> buffer;
            for (ssize_t count = 0; (count = ::recv(fd_, buffer.data(), buffer.size(), 0)) > 0;)
                bytes_ += static_cast<std::uint64_t>(count);
        });
    }
    ~Reader() {
        ::shutdown(fd_, SHUT_RDWR);
        thread_.join();
        ::close(fd_);
    }
    Reader(Reader const&) = delete;
    std::uint64_t bytes() const { return bytes_; }

private:
    int fd_ = -1;
    std::atomic<std::uint64_t> bytes_ = 0;
    std::thread thread_;
};

struct Result {
    double rate = 0;
    std::uint64_t bytes = 0;  ///< that the reader got
};

// One job; its standard output and error come by one pipe.
Result run_job(std::string const& own, Options const& wanted, bool with_dashboard) {
    std::array<int, 2> ends{};
    if (::pipe2(ends.data(), O_CLOEXEC) != 0) throw std::runtime_error("no pipe");
    std::vector<std::string> words{SINEW_BENCH_COMMAND, "run", "-n", "1", "--mpi", "none"};
    if (with_dashboard) words.emplace_back("--dashboard");
    for (auto const& word :
         {own, std::string("--measure"), std::string("--seconds"), std::to_string(wanted.seconds),
          std::string("--workers"), std::to_string(wanted.workers)})
        words.push_back(word);
    std::vector<char*> arguments;
    for (auto& word : words) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    posix_spawn_file_actions_t actions;
    ::posix_spawn_file_actions_init(&actions);
    ::posix_spawn_file_actions_adddup2(&actions, ends[1], 1);
    ::posix_spawn_file_actions_adddup2(&actions, ends[1], 2);
    pid_t pid = 0;
    int const error =
        ::posix_spawn(&pid, words.front().c_str(), &actions, nullptr, arguments.data(), environ);
    ::posix_spawn_file_actions_destroy(&actions);
    ::close(ends[1]);
    if (error != 0) throw std::runtime_error(words.front() + " cannot be started");
    std::unique_ptr<Reader> reader;
    std::string said;
    std::array<char, 4096> buffer;
    for (ssize_t count = 0; (count = ::read(ends[0], buffer.data(), buffer.size())) > 0;) {
        said.append(buffer.data(), static_cast<std::size_t>(count));
        auto const at = said.find("http://");
        auto const end = at == std::string::npos ? at : said.find('\n', at);
        if (!reader && end != std::string::npos)
            reader = std::make_unique<Reader>(said.substr(at, end - at));
    }
    ::close(ends[0]);
    int status = 0;
    ::waitpid(pid, &status, 0);
    auto const rate = said.find("rate ");
    if (status != 0 || rate == std::string::npos || (with_dashboard && !reader))
        throw std::runtime_error("the job has failed: " + said);
    return {std::stod(said.substr(rate + 5)), reader ? reader->bytes() : 0};
}

int run(int argc, char** argv) {
    Options wanted;
    options::options_description flags(
        "The throughput of a pool of tasks that do nothing, with a page that is open and without, "
        "in turns");
    flags.add_options()("help,h", "show this")("rounds", options::value(&wanted.rounds),
                                               "pairs of jobs (7)")(
        "seconds", options::value(&wanted.seconds), "of each (3)")(
        "workers", options::value(&wanted.workers), "of the pool (2)")("measure", "be the job");
    options::variables_map given;
    options::store(options::parse_command_line(argc, argv, flags), given);
    options::notify(given);
    if (given.contains("help")) {
        std::cout << flags;
        return 0;
    }
    if (given.contains("measure")) {
        measure(wanted);
        return 0;
    }
    std::vector<double> with, without;
    std::uint64_t bytes = 0;
    std::cout << std::fixed << std::setprecision(0)
              << "round  without tasks/s  with tasks/s  ratio\n";
    for (int round = 0; round < wanted.rounds; ++round) {
        for (bool const dashboard :
             {round % 2 == 0, round % 2 != 0}) {  // who is first changes, too
            auto const result = run_job(argv[0], wanted, dashboard);
            (dashboard ? with : without).push_back(result.rate);
            bytes += result.bytes;
        }
        std::cout << std::setw(5) << round + 1 << std::setw(17) << without.back() << std::setw(14)
                  << with.back() << std::setw(7) << std::setprecision(3)
                  << with.back() / without.back() << std::setprecision(0) << std::endl;
    }
    auto const middle = percentiles(ratios(with, without));
    std::cout << std::setprecision(3) << "with / without: median " << middle.p50
              << " (10 % to 90 %: " << middle.p10 << " to " << middle.p90
              << "); the goal is at least 0.980\n"
              << std::setprecision(1) << "the reader got "
              << static_cast<double>(bytes) / 1e3 / wanted.rounds << " kB per job\n";
    return 0;
}

}  // namespace
}  // namespace sinew::bench

int main(int argc, char** argv) {
    sinew::init(argc, argv);
    return sinew::bench::run_program("dashboard", sinew::bench::run, argc, argv);
}
