// SPDX-License-Identifier: Apache-2.0
#include <sinew/pipe.hpp>
#include <sinew/process.hpp>
#include <string>

#include "benchmarks/pool/message.hpp"
#include "benchmarks/pool/ours.hpp"

namespace sinew::bench {

namespace {

void echo(PipeEnd<std::string> end) {
    for (std::string word = end.recv(); !word.empty(); word = end.recv()) end.send(word);
}

class PipeCase final : public Contestant {
public:
    PipeCase() : PipeCase(pipe<std::string>()) {}
    ~PipeCase() override { end_.send(""); }
    double cost(std::uint64_t size) override {
        Stopwatch const time;
        for (std::uint64_t i = 0; i < size; ++i) {
            end_.send(message);
            check(end_.recv());
        }
        return time.seconds();
    }

private:
    explicit PipeCase(std::pair<PipeEnd<std::string>, PipeEnd<std::string>> ends)
        : end_(ends.first), echo_(task<echo>, ends.second) {
        echo_.start();
    }
    PipeEnd<std::string> end_;
    Process echo_;
};

}  // namespace

std::unique_ptr<Contestant> make_pipe_case() { return std::make_unique<PipeCase>(); }

}  // namespace sinew::bench
