// SPDX-License-Identifier: Apache-2.0
// libzmq with PAIR sockets: its simplest pattern, with one peer at each end, as in a link.
#include <zmq.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <functional>
#include <stdexcept>
#include <vector>

#include "benchmarks/support/text.hpp"
#include "benchmarks/wire/contestant.hpp"
#include "benchmarks/wire/server.hpp"

namespace sinew::bench {
namespace {

constexpr std::size_t key_size = 41;  // in Z85, with the terminating zero
using Key = std::array<char, key_size>;

void require(int result, char const* what) {
    if (result < 0) throw std::runtime_error(text(what, ": ", zmq_strerror(zmq_errno())));
}

/// A context with one socket.
class Socket {
public:
    Socket() : context_(zmq_ctx_new()), socket_(zmq_socket(context_, ZMQ_PAIR)) {
        int const off = 0;
        require(zmq_setsockopt(socket_, ZMQ_LINGER, &off, sizeof off), "linger");
        require(zmq_setsockopt(socket_, ZMQ_SNDHWM, &off, sizeof off), "sndhwm");
        require(zmq_setsockopt(socket_, ZMQ_RCVHWM, &off, sizeof off), "rcvhwm");
    }
    Socket(Socket const&) = delete;
    Socket& operator=(Socket const&) = delete;
    ~Socket() {
        zmq_close(socket_);
        zmq_ctx_term(context_);
    }
    void* get() const { return socket_; }
    void set(int option, Key const& key) {
        require(zmq_setsockopt(socket_, option, key.data(), key.size()), "curve key");
    }

private:
    void* context_;
    void* socket_;
};

class Zmq final : public Contestant {
public:
    Zmq(Way way, bool curve)
        : way_(way), curve_(curve), server_([this](auto tell) { serve(tell); }) {
        connect();
    }

    std::string name() const override {
        if (way_ == Way::unix_socket) return "libzmq ipc";
        return curve_ ? "libzmq tcp, CURVE" : "libzmq tcp, plain";
    }
    bool encrypted() const override { return curve_; }
    double round_trips(std::size_t bytes, long times) override {
        return pipelined(bytes, 1, times);
    }
    double pipelined(std::size_t bytes, long in_flight, long times) override;

private:
    void serve(std::function<void(std::string const&)> const& tell) const;
    void connect();

    Way way_;
    bool curve_;
    SocketFolder folder_;
    Server server_;
    std::unique_ptr<Socket> socket_;
};

// Echoes all messages until killed. Reports its public key and its endpoint.
void Zmq::serve(std::function<void(std::string const&)> const& tell) const {
    Socket socket;
    Key open{}, hidden{};
    if (curve_) {
        int const on = 1;
        require(zmq_curve_keypair(open.data(), hidden.data()), "curve keys");
        require(zmq_setsockopt(socket.get(), ZMQ_CURVE_SERVER, &on, sizeof on), "curve server");
        socket.set(ZMQ_CURVE_SECRETKEY, hidden);
    }
    auto const where =
        way_ == Way::tcp ? std::string("tcp://127.0.0.1:*") : "ipc://" + folder_.path() + "/zmq";
    require(zmq_bind(socket.get(), where.c_str()), "bind");
    std::array<char, 256> endpoint{};
    std::size_t size = endpoint.size();
    require(zmq_getsockopt(socket.get(), ZMQ_LAST_ENDPOINT, endpoint.data(), &size), "endpoint");
    tell(std::string(open.data(), open.size()) + endpoint.data());
    zmq_msg_t message;
    zmq_msg_init(&message);
    for (;;) {
        require(zmq_msg_recv(&message, socket.get(), 0), "receive");
        require(zmq_msg_send(&message, socket.get(), 0), "send");  // moves the message, no copy
        zmq_msg_init(&message);
    }
}

void Zmq::connect() {
    if (server_.told().size() <= key_size)
        throw std::runtime_error("libzmq's server did not start");
    socket_ = std::make_unique<Socket>();
    if (curve_) {
        Key theirs{}, open{}, hidden{};
        std::memcpy(theirs.data(), server_.told().data(), theirs.size());
        require(zmq_curve_keypair(open.data(), hidden.data()), "curve keys");
        socket_->set(ZMQ_CURVE_SERVERKEY, theirs);
        socket_->set(ZMQ_CURVE_PUBLICKEY, open);
        socket_->set(ZMQ_CURVE_SECRETKEY, hidden);
    }
    int const limit = 10'000;  // in ms; a failed handshake is not reported
    require(zmq_setsockopt(socket_->get(), ZMQ_RCVTIMEO, &limit, sizeof limit), "timeout");
    require(zmq_connect(socket_->get(), server_.told().c_str() + key_size), "connect");
}

double Zmq::pipelined(std::size_t bytes, long in_flight, long times) {
    std::vector<std::byte> const payload(bytes);
    auto const send = [&] {
        require(zmq_send(socket_->get(), payload.data(), payload.size(), 0), "send");
    };
    zmq_msg_t message;
    zmq_msg_init(&message);
    auto const begin = std::chrono::steady_clock::now();
    long sent = 0;
    for (; sent < std::min(in_flight, times); ++sent) send();
    for (long got = 0; got < times; ++got) {
        require(zmq_msg_recv(&message, socket_->get(), 0), "receive");
        if (sent < times) send(), ++sent;
    }
    std::chrono::duration<double> const taken = std::chrono::steady_clock::now() - begin;
    zmq_msg_close(&message);
    return taken.count();
}

}  // namespace

std::unique_ptr<Contestant> make_zmq(Way way, bool curve) {
    if (curve && zmq_has("curve") == 0) return nullptr;
    return std::make_unique<Zmq>(way, curve);
}

std::string zmq_about() {
    int major = 0, minor = 0, patch = 0;
    zmq_version(&major, &minor, &patch);
    return text(major, ".", minor, ".", patch,
                zmq_has("curve") ? ", with CURVE" : ", without CURVE");
}

}  // namespace sinew::bench
