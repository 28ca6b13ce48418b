// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <chrono>
#include <functional>
#include <stdexcept>
#include <vector>

#include "benchmarks/wire/contestant.hpp"
#include "benchmarks/wire/server.hpp"
#include "src/wire/link.hpp"

namespace sinew::bench {
namespace {

using namespace std::chrono_literals;

class Ours final : public Contestant {
public:
    explicit Ours(Way way) : way_(way), server_([this](auto tell) { serve(tell); }) { connect(); }

    std::string name() const override { return way_ == Way::tcp ? "sinew tcp" : "sinew unix"; }
    bool encrypted() const override { return way_ == Way::tcp; }
    double round_trips(std::size_t bytes, long times) override {
        return pipelined(bytes, 1, times);
    }
    double pipelined(std::size_t bytes, long in_flight, long times) override;

private:
    void serve(std::function<void(std::string const&)> const& tell) const;
    void connect();

    Way way_;
    SocketFolder folder_;
    wire::Secret secret_ = wire::Secret::random();
    Server server_;
    wire::Loop loop_;
    std::unique_ptr<wire::Link> link_;
};

// Echoes all messages until killed.
void Ours::serve(std::function<void(std::string const&)> const& tell) const {
    wire::Loop loop;
    std::unique_ptr<wire::Link> link;
    auto const address = way_ == Way::tcp ? wire::Address::tcp("127.0.0.1", 0)
                                          : wire::Address::unix_socket(folder_.path() + "/ours");
    wire::Listener const listener(
        loop, address, {secret_, {0, 0, 0, "server"}}, {},
        [&](std::unique_ptr<wire::Link> accepted) {
            link = std::move(accepted);
            link->on({[&](wire::Message const& m) { link->send(m.kind, m.stream, {m.payload}); },
                      [&](wire::LinkEnd const&) { loop.stop(); }});
        });
    tell(listener.address().text());
    loop.run();
}

void Ours::connect() {
    std::string error;
    auto const dialling =
        wire::dial(loop_, wire::Address::parse(server_.told()), {secret_, {1, 0, 0, "client"}}, {},
                   10s, [&](wire::Dialled outcome) {
                       link_ = std::move(outcome.link);
                       error = outcome.error;
                       loop_.stop();
                   });
    loop_.run();
    if (!link_) throw std::runtime_error(error);
}

double Ours::pipelined(std::size_t bytes, long in_flight, long times) {
    std::vector<std::byte> const payload(bytes);
    long sent = 0, got = 0;
    auto const send = [&] {
        ++sent;
        link_->send(1, 0, {payload});
    };
    std::string lost;
    link_->on({[&](wire::Message const&) {
                   if (++got == times) loop_.stop();
                   if (sent < times) send();
               },
               [&](wire::LinkEnd const& end) {
                   lost = end.text;
                   loop_.stop();
               }});
    auto const begin = std::chrono::steady_clock::now();
    while (sent < std::min(in_flight, times)) send();
    loop_.run();
    std::chrono::duration<double> const taken = std::chrono::steady_clock::now() - begin;
    if (!lost.empty()) throw std::runtime_error(lost);
    return taken.count();
}

}  // namespace

std::unique_ptr<Contestant> make_ours(Way way) { return std::make_unique<Ours>(way); }

}  // namespace sinew::bench
