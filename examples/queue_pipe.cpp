// SPDX-License-Identifier: Apache-2.0
//
// A queue and a pipe between processes: two workers take numbers from one queue and put their
// squares into another, whichever is idle; a third process replies over a pipe.
//
//   build/release/examples/queue_pipe [numbers]
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <map>
#include <sinew/init.hpp>
#include <sinew/pipe.hpp>
#include <sinew/process.hpp>
#include <sinew/queue.hpp>
#include <string>

namespace {

struct Square {
    int number = 0, pid = 0;
    long square = 0;
};

void square(sinew::Queue<int> numbers, sinew::Queue<Square> squares) {
    try {
        for (;;) {
            auto const number = numbers.get();
            squares.put({number, ::getpid(), static_cast<long>(number) * number});
        }
    } catch (sinew::QueueClosed const&) {}  // all numbers are done
}

void greet(sinew::PipeEnd<std::string> end) {
    try {
        for (;;) end.send("hello " + end.recv());
    } catch (sinew::PipeClosed const&) {}  // the other end is gone
}

void use_queues(int count) {
    sinew::Queue<int> numbers;
    sinew::Queue<Square> squares;
    sinew::Process first(sinew::task<square>, numbers, squares);
    sinew::Process second(sinew::task<square>, numbers, squares);
    first.start();
    second.start();
    for (int i = 1; i <= count; ++i) numbers.put(i);
    numbers.close();

    long sum = 0;
    std::map<int, int> done;
    for (int i = 0; i < count; ++i) {
        auto const each = squares.get();
        sum += each.square;
        ++done[each.pid];
    }
    std::printf("the squares of 1 to %d add up to %ld\n", count, sum);
    for (auto const& [pid, items] : done) std::printf("  pid %d did %d\n", pid, items);
    first.join();
    second.join();
}

void use_pipe() {
    auto [here, there] = sinew::pipe<std::string>();
    sinew::Process greeter(sinew::task<greet>, there);
    greeter.start();
    for (auto const* name : {"Ada", "Emmy"}) {
        here.send(name);
        std::printf("%s\n", here.recv().c_str());
    }
    here.close();
    greeter.join();
}

}  // namespace

int main(int argc, char** argv) {
    sinew::init(argc, argv);
    use_queues(argc > 1 ? std::atoi(argv[1]) : 1000);
    use_pipe();
}
