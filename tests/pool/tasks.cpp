// SPDX-License-Identifier: Apache-2.0
#include "tests/pool/tasks.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <stdexcept>
#include <thread>

#include "src/base/text.hpp"

namespace sinew::testing_support {

int square(int x) { return static_cast<int>(static_cast<unsigned>(x) * static_cast<unsigned>(x)); }
std::string twice(std::string const& word) { return word + word; }
int add(int a, int b) { return a + b; }
void nothing(int) {}
std::string mebibyte(int) { return std::string(std::size_t{1} << 20, 'x'); }

pid_t who(int milliseconds) {
    std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
    return ::getpid();
}

namespace {

struct Odd {};

}  // namespace

int picky(int x) {
    if (x == 13) throw std::out_of_range("thirteen");
    if (x == 14) throw Odd();
    if (x == 15) {
        try {
            throw std::invalid_argument("the inner one");
        } catch (...) {
            std::throw_with_nested(std::runtime_error("the outer one"));
        }
    }
    return x;
}

std::vector<std::uint64_t> blow_up(std::uint64_t count) {
    std::vector<std::uint64_t> values(count);
    std::iota(values.begin(), values.end(), 0);
    return values;
}

std::uint64_t total(std::vector<std::uint64_t> const& values) {
    return std::accumulate(values.begin(), values.end(), std::uint64_t{0});
}

int suicide_at(int x, int victim, int signal) {
    if (x != victim) return x;
    ::signal(signal, SIG_DFL);  // sanitizers catch some
    ::raise(signal);
    return x;
}

int leave_at(int x, int victim, int code) {
    if (x == victim) ::_exit(code);
    return x;
}

Ledger::Ledger(std::string const& name)
    : path_((std::filesystem::temp_directory_path() / text("sinew-ledger-", ::getpid(), "-", name))
                .string()) {
    std::ofstream(path_).flush();
}

Ledger::~Ledger() {
    std::error_code ignored;
    std::filesystem::remove(path_, ignored);
}

std::vector<int> Ledger::counts(std::size_t tasks) const {
    std::vector<int> counts(tasks);
    std::ifstream file(path_);
    for (std::size_t task = 0; file >> task;) ++counts.at(task);
    return counts;
}

void note(std::string const& ledger, int task) {
    int const fd = ::open(ledger.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC);
    auto const line = text(task, "\n");
    if (fd < 0 || ::write(fd, line.data(), line.size()) < 0)
        throw std::runtime_error("no ledger " + ledger);
    ::close(fd);
}

}  // namespace sinew::testing_support
