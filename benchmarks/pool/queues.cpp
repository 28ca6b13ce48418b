// SPDX-License-Identifier: Apache-2.0
#include <sinew/process.hpp>
#include <sinew/queue.hpp>
#include <string>

#include "benchmarks/pool/message.hpp"
#include "benchmarks/pool/ours.hpp"

namespace sinew::bench {

namespace {

void put_messages(Queue<std::uint64_t> orders, Queue<std::string> messages) {
    while (std::uint64_t const count = orders.get())
        for (std::uint64_t i = 0; i < count; ++i) messages.put(message);
}

class QueueCase final : public Contestant {
public:
    QueueCase() : writer_(task<put_messages>, orders_, messages_) { writer_.start(); }
    ~QueueCase() override { orders_.put(0); }
    double cost(std::uint64_t size) override {
        Stopwatch const time;
        orders_.put(size);
        for (std::uint64_t i = 0; i < size; ++i) check(messages_.get());
        return time.seconds();
    }

private:
    Queue<std::uint64_t> orders_;
    Queue<std::string> messages_;
    Process writer_;
};

}  // namespace

std::unique_ptr<Contestant> make_queue_case() { return std::make_unique<QueueCase>(); }

}  // namespace sinew::bench
