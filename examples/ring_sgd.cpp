// SPDX-License-Identifier: Apache-2.0
//
// Fiber's ring demo with sinew's Ring: stochastic gradient descent by equal members that reduce
// their gradients, without a launcher. The training is that of examples/sgd_digits.
//
//     ./ring_sgd                      two members, synthetic digits
//     ./ring_sgd --members 4 --data DIR --epochs 10 --batch 128
//
// All options except --members are those of sgd_digits. Exits with 0, with 1 if a member failed, or
// with 2 if the command line is wrong.
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <exception>
#include <iostream>
#include <sinew/init.hpp>
#include <sinew/ring.hpp>
#include <string>
#include <vector>

#include "examples/sgd_digits/options.hpp"
#include "examples/sgd_digits/plot.hpp"
#include "examples/sgd_digits/report.hpp"
#include "examples/sgd_digits/share.hpp"
#include "examples/sgd_digits/synthetic.hpp"
#include "examples/sgd_digits/train.hpp"

namespace {

using namespace sgd_digits;
using Arguments = std::vector<std::string>;

// Set by prepare() for learn(), in each member's process.
Options options;
Dataset data;

/// Prints the address of member 0 in each member, as Fiber's demo does.
void prepare(sinew::RingMember& me, Arguments const& arguments) {
    options = parse_options(arguments);
    auto const& master = me.members().front();
    std::cerr << me.rank() << " of " << me.size() << " (pid " << ::getpid() << "), member 0 is at "
              << master.address << ':' << master.port << '\n';
    if (me.rank() == 0) {  // if this throws, the other members get the error in their communication
        if (!options.plot.empty()) check_plot(options.plot);
        data = options.data.empty() ? synthetic_digits(1) : load(options.data);
    }
    share(me.communicator(), data);
}

void learn(sinew::RingMember& me) {
    auto& comm = me.communicator();
    RingJob const crew{me.size(), me.members().front().host, "ring"};
    Report report(std::cout, nullptr, options);
    Observer observer;
    if (me.rank() == 0) {
        report.header(crew, data);
        observer.gpus = [&](auto const& gpus) { report.gpus(gpus); };
        observer.epoch = [&](auto epoch, auto const& now) { report.epoch(epoch, now); };
    }
    Result const result = train(comm, data, options, observer);
    if (me.rank() != 0) return;
    report.summary(result);
    if (!options.plot.empty())
        plot(options.plot, "ring_sgd, " + std::to_string(crew.ranks) + " members", result.epochs);
    if (options.json) report.json(crew, data, result);
}

/// Removes --members N from the arguments and returns N, or 2 if it is absent.
int members_of(Arguments& arguments) {
    auto const at = std::find(arguments.begin(), arguments.end(), "--members");
    if (at == arguments.end()) return 2;
    if (at + 1 == arguments.end()) throw OptionError("--members needs a number. Write --members 4");
    auto const& word = at[1];
    int members = 0;
    auto const [end, error] = std::from_chars(word.data(), word.data() + word.size(), members);
    if (error != std::errc() || end != word.data() + word.size() || members < 1)
        throw OptionError("--members " + word + " (must be a number from 1). Write --members 4");
    arguments.erase(at, at + 2);
    return members;
}

}  // namespace

int main(int argc, char** argv) {
    sinew::init(argc, argv);
    Arguments arguments(argv + 1, argv + argc);
    int members = 0;
    try {
        members = members_of(arguments);
        if (parse_options(arguments).help) {
            std::cout << "ring_sgd [--members N] and the options of sgd_digits:\n" << help_text();
            return 0;
        }
    } catch (OptionError const& error) {
        std::cerr << "ring_sgd: " << error.what() << '\n';
        return 2;
    }
    try {
        sinew::Ring ring(members, sinew::task<prepare>, sinew::task<learn>, {.name = "ring_sgd"},
                         arguments);
        ring.run();
        return 0;
    } catch (std::exception const& error) {
        std::cerr << "ring_sgd: " << error.what() << '\n';
        return 1;
    }
}
