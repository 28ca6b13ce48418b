// SPDX-License-Identifier: Apache-2.0
// A test program without MPI: rank_program VERB ARGUMENTS...
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "tests/launchers/run/programs/lines.hpp"

namespace {

using Arguments = std::vector<std::string>;
using namespace sinew::testing_support;

int rank() {
    char const* const word = std::getenv("SINEW_RANK");
    return word != nullptr ? std::atoi(word) : 0;
}

void put(int fd, std::string_view bytes) {
    while (!bytes.empty()) {
        ssize_t const count = ::write(fd, bytes.data(), bytes.size());
        if (count <= 0) std::exit(3);
        bytes.remove_prefix(static_cast<std::size_t>(count));
    }
}

[[noreturn]] void wait_for_the_end() {
    put(1, "ready\n");
    for (;;) ::pause();
}

// exit CODE RANK MILLISECONDS: that rank ends with CODE after a delay, the others wait.
int exit_with(Arguments const& arguments) {
    if (rank() != std::stoi(arguments[1])) wait_for_the_end();
    std::this_thread::sleep_for(std::chrono::milliseconds(std::stoi(arguments[2])));
    return std::stoi(arguments[0]);
}

// die SIGNAL RANK: that rank dies by SIGNAL, the others wait.
int die(Arguments const& arguments) {
    if (rank() != std::stoi(arguments[1])) wait_for_the_end();
    rlimit const none{0, 0};
    ::setrlimit(RLIMIT_CORE, &none);
    int const number = std::stoi(arguments[0]);
    ::signal(number, SIG_DFL);  // a sanitizer would turn it into an exit
    ::raise(number);
    return 0;
}

// signals: prints the signals that it gets; ends on TERM, INT and HUP.
int signals(Arguments const&) {
    sigset_t all;
    ::sigfillset(&all);
    ::sigprocmask(SIG_SETMASK, &all, nullptr);
    put(1, "ready\n");
    for (;;) {
        int number = 0;
        ::sigwait(&all, &number);
        put(1, "got " + std::to_string(number) + "\n");
        if (number == SIGTERM || number == SIGINT || number == SIGHUP) return 0;
    }
}

// ignore SIGNAL...: ignores the signals and waits.
int ignore(Arguments const& arguments) {
    for (auto const& number : arguments) ::signal(std::stoi(number), SIG_IGN);
    wait_for_the_end();
}

// lines COUNT LONGEST: writes that many lines on each stream, in pieces that do not match them.
int lines(Arguments const& arguments) {
    std::map<char, std::string> waiting;
    auto const longest = std::stoul(arguments[1]);
    for (int number = 0; number < std::stoi(arguments[0]); ++number)
        for (char const stream : {'o', 'e'}) {
            auto& bytes = waiting[stream];
            bytes += line_of(rank(), stream, number, longest);
            std::size_t const part = mix(static_cast<std::uint32_t>(number)) % (bytes.size() + 1);
            put(stream == 'o' ? 1 : 2, std::string_view(bytes).substr(0, part));
            bytes.erase(0, part);
        }
    put(1, waiting['o']);
    put(2, waiting['e']);
    return 0;
}

// flood MIB: writes at least that much on standard output, in lines.
int flood(Arguments const& arguments) {
    auto left = std::stol(arguments[0]) << 20;
    std::string block;
    for (int number = 0; left > 0; block.clear()) {
        while (block.size() < 64 << 10) block += line_of(rank(), 'o', number++);
        put(1, block);
        left -= static_cast<long>(block.size());
    }
    return 0;
}

int bytes(Arguments const& arguments) {
    put(1, noise(std::stoul(arguments[0])));
    return 0;
}

// prompt: writes an incomplete line, and then nothing.
int prompt(Arguments const&) {
    put(1, "your name? ");
    for (;;) ::pause();
}

// count: prints the number of bytes of standard input and their checksum.
int count(Arguments const&) {
    std::array<char, 65536> buffer;
    Checksum sum;
    unsigned long total = 0;
    for (ssize_t got = 0; (got = ::read(0, buffer.data(), buffer.size())) > 0;) {
        sum.feed(std::string_view(buffer.data(), static_cast<std::size_t>(got)));
        total += static_cast<unsigned long>(got);
    }
    put(1, std::to_string(rank()) + " read " + std::to_string(total) + " " +
               std::to_string(sum.value) + "\n");
    return 0;
}

// print NAME...: prints "RANK NAME=VALUE" for variables, "RANK NAME?" for missing ones.
int print(Arguments const& arguments) {
    for (auto const& name : arguments) {
        char const* const value = std::getenv(name.c_str());
        put(1,
            std::to_string(rank()) + " " + name + (value ? std::string("=") + value : "?") + "\n");
    }
    return 0;
}

// leave group|session|daemon: leaves a process that holds its streams and ignores all signals it
// can.
int leave(Arguments const& arguments) {
    std::string const how = arguments[0];
    if (::fork() != 0) return 0;
    if (how != "group") ::setsid();
    if (how == "daemon") {
        if (::fork() != 0) ::_exit(0);
        ::prctl(PR_SET_PDEATHSIG, 0);
    }
    for (int number = 1; number < 32; ++number) ::signal(number, SIG_IGN);
    for (;;) ::pause();
}

// restarts TIMES: fails in that many epochs, and then ends normally.
int restarts(Arguments const& arguments) {
    int const restart = std::atoi(std::getenv("SINEW_RESTART"));
    put(1, std::to_string(rank()) + " restart " + std::to_string(restart) + "\n");
    if (restart >= std::stoi(arguments[0])) return 0;
    if (rank() == 0) return 9;
    wait_for_the_end();
}

// until_restart: waits in the first epoch, ends normally in the next.
int until_restart(Arguments const&) {
    if (std::string(std::getenv("SINEW_RESTART")) != "0") {
        put(1, "again " + std::string(std::getenv("SINEW_RESTART")) + "\n");
        return 0;
    }
    wait_for_the_end();
}

}  // namespace

int main(int argc, char** argv) {
    std::map<std::string, int (*)(Arguments const&)> const verbs{{"exit", exit_with},
                                                                 {"die", die},
                                                                 {"signals", signals},
                                                                 {"ignore", ignore},
                                                                 {"lines", lines},
                                                                 {"flood", flood},
                                                                 {"bytes", bytes},
                                                                 {"prompt", prompt},
                                                                 {"count", count},
                                                                 {"print", print},
                                                                 {"leave", leave},
                                                                 {"restarts", restarts},
                                                                 {"until_restart", until_restart}};
    auto const verb = argc > 1 ? verbs.find(argv[1]) : verbs.end();
    if (verb == verbs.end()) return 64;
    return verb->second(Arguments(argv + 2, argv + argc));
}
