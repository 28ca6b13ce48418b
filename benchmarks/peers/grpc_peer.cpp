// SPDX-License-Identifier: Apache-2.0
// A peer of `bench/manager`: unary calls of gRPC on a Unix socket.
//
// Reads lines "case managers step_us size" (of which it uses only case and size), makes that many
// calls and prints the seconds they took, or "error: why". Ends, with its server, at the end of its
// input.
#include <counter.grpc.pb.h>
#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <cstdint>
#include <exception>
#include <functional>
#include <iostream>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <string>

#include "benchmarks/support/stopwatch.hpp"
#include "benchmarks/wire/server.hpp"

namespace sinew::bench {
namespace {

using grpc_peer::Number;
using Stub = grpc_peer::Counter::Stub;

constexpr std::int32_t in_flight = 32;

/// A call that the server waits for or answers.
struct Request {
    grpc::ServerContext context;
    Number number, sum;
    grpc::ServerAsyncResponseWriter<Number> writer{&context};
    bool answered = false;
};

// One thread with one queue: in measurements the fastest of gRPC's three kinds of server.
void serve(std::string const& address, std::function<void(std::string const&)> const& tell) {
    grpc_peer::Counter::AsyncService service;
    grpc::ServerBuilder builder;
    builder.AddListeningPort(address, grpc::InsecureServerCredentials());
    builder.RegisterService(&service);
    auto const queue = builder.AddCompletionQueue();
    auto const server = builder.BuildAndStart();
    if (!server) throw std::runtime_error("gRPC cannot listen at " + address);
    auto const wait_for_one = [&] {
        auto* const next = new Request;
        service.RequestAdd(&next->context, &next->number, &next->writer, queue.get(), queue.get(),
                           next);
    };
    for (int i = 0; i < 2 * in_flight; ++i) wait_for_one();
    tell("ready");
    std::int32_t total = 0;
    bool ok = false;
    for (void* tag = nullptr; queue->Next(&tag, &ok);) {
        std::unique_ptr<Request> request(static_cast<Request*>(tag));
        if (request->answered || !ok) continue;
        wait_for_one();
        request->answered = true;
        request->sum.set_value(total += request->number.value());
        auto* const answered = request.release();  // released until the reply is sent
        answered->writer.Finish(answered->sum, grpc::Status::OK, answered);
    }
}

void require(grpc::Status const& status) {
    if (!status.ok()) throw std::runtime_error("gRPC: " + status.error_message());
}

Number number(std::int32_t value) {
    Number made;
    made.set_value(value);
    return made;
}

std::int32_t add(Stub& stub, std::int32_t value) {
    grpc::ClientContext context;
    Number sum;
    require(stub.Add(&context, number(value), &sum));
    return sum.value();
}

double sync(Stub& stub, std::int32_t size) {
    auto const before = add(stub, 0);
    bool right = true;
    Stopwatch const time;
    for (std::int32_t i = 1; i <= size; ++i) right = add(stub, 1) == before + i && right;
    double const seconds = time.seconds();
    if (!right) throw std::runtime_error("a sum is wrong");
    return seconds;
}

/// A call in progress.
struct Pending {
    grpc::ClientContext context;
    Number sum;
    grpc::Status status;
    std::unique_ptr<grpc::ClientAsyncResponseReader<Number>> reader;

    Pending(Stub& stub, grpc::CompletionQueue& queue)
        : reader(stub.AsyncAdd(&context, number(1), &queue)) {
        reader->Finish(&sum, &status, this);
    }
};

double async(Stub& stub, std::int32_t size) {
    auto const before = add(stub, 0);
    grpc::CompletionQueue queue;
    Stopwatch const time;
    std::int32_t begun = 0;
    for (; begun < std::min(size, in_flight); ++begun) new Pending(stub, queue);
    for (std::int32_t ended = 0; ended < size; ++ended) {
        void* tag = nullptr;
        bool ok = false;
        if (!queue.Next(&tag, &ok)) throw std::runtime_error("gRPC's queue has ended");
        std::unique_ptr<Pending> const done(static_cast<Pending*>(tag));
        require(done->status);
        if (begun++ < size) new Pending(stub, queue);
    }
    double const seconds = time.seconds();
    if (add(stub, 0) != before + size) throw std::runtime_error("a sum is wrong");
    return seconds;
}

double seconds(Stub& stub, std::string const& line) {
    std::istringstream words(line);
    std::string name;
    int managers = 0, step = 0;
    std::int32_t size = 0;
    words >> name >> managers >> step >> size;
    if (!words) throw std::runtime_error("not understood: " + line);
    if (name == "sync") return sync(stub, size);
    if (name == "async") return async(stub, size);
    throw std::runtime_error("no such case: " + name);
}

void answer_all() {
    SocketFolder const folder;
    std::string const address = "unix:" + folder.path() + "/grpc";
    // Fork before gRPC starts threads in this process.
    Server const server([&](auto tell) { serve(address, tell); });
    if (server.told() != "ready") throw std::runtime_error("the server of gRPC did not start");
    Stub stub(grpc::CreateChannel(address, grpc::InsecureChannelCredentials()));
    for (std::string line; std::getline(std::cin, line);) {
        try {
            std::cout << seconds(stub, line) << std::endl;
        } catch (std::exception const& problem) {  // reported in the reply
            std::cout << "error: " << problem.what() << std::endl;
        }
    }
}

}  // namespace
}  // namespace sinew::bench

int main() {
    try {
        sinew::bench::answer_all();
    } catch (std::exception const& problem) {
        std::cerr << "grpc_peer: Error: " << problem.what() << std::endl;
        return 1;
    }
}
