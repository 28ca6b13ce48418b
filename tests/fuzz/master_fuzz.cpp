// SPDX-License-Identifier: Apache-2.0
//
// Misbehaving workers: whatever they report of their batches, and whenever they fall silent or end,
// the master of a pool ends every task exactly once, and ends itself.
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <future>
#include <list>
#include <new>
#include <set>
#include <sinew/pool/calls.hpp>
#include <sinew/remote_error.hpp>
#include <sinew/task/encoding.hpp>
#include <span>
#include <stdexcept>
#include <vector>

#include "src/pool/master/master.hpp"
#include "tests/fuzz/fake_runtime.hpp"
#include "tests/fuzz/script.hpp"

namespace {

using namespace sinew;
using namespace sinew::pool;
using fuzz::FakeRuntime;
using fuzz::Script;
using Bytes = std::span<std::byte const>;
using Lock = std::unique_lock<std::mutex>;

FakeRuntime& runtime() { return FakeRuntime::instance(); }

// Waits until the loop has done the posted work.
void barrier() {
    std::promise<void> done;
    runtime().loop.post([&] { done.set_value(); });
    done.get_future().wait();
}

/// The batches in flight, of all workers.
std::list<TasksHead>& batches() {
    static std::list<TasksHead> all;
    return all;
}

class WildPort final : public WorkerHandle {
public:
    WildPort() { living().push_back(this); }
    ~WildPort() override { living().remove(this); }
    void on(Callbacks callbacks) override { callbacks_ = std::move(callbacks); }
    void send(Kind kind, std::initializer_list<std::span<std::byte const>> parts) override {
        if (kind == Kind::function && ++functions_ % 64 == 0) throw std::bad_alloc();
        if (kind != Kind::tasks) return;
        std::memcpy(&batches().emplace_back(), parts.begin()->data(), sizeof(TasksHead));
        if (batches().size() > 8) batches().pop_front();
    }
    void transfer(std::uint64_t, Bytes, std::shared_ptr<void const>) override {}
    void flush() override {}
    void kill() override {}
    std::string name() const override { return name_; }

    void say(Kind kind, Bytes body) {
        if (!ended_) Callbacks(callbacks_).message(kind, body);
    }
    void fall_silent(bool suspect) {
        if (!ended_) Callbacks(callbacks_).liveness(suspect);
    }
    void end(WorkerEnd const& end) {
        if (!std::exchange(ended_, true)) Callbacks(callbacks_).ended(end);
    }
    bool ended() const { return ended_ || !callbacks_.ended; }
    static std::list<WildPort*>& living() {
        static std::list<WildPort*> all;
        return all;
    }

private:
    Callbacks callbacks_;
    std::string const name_ = "a wild worker";
    bool ended_ = false;
    static inline unsigned functions_ = 0;  ///< functions sent to all workers
};

class WildPlacement final : public WorkerPlacement {
public:
    std::unique_ptr<WorkerHandle> start(std::uint32_t, WorkerStart const&) override {
        if (++starts_ % 8 == 0) throw SystemError("it cannot be started", 11);
        if (starts_ % 8 == 4) throw std::runtime_error("it cannot be started, for another reason");
        return std::make_unique<WildPort>();
    }
    int cores() const override { return 2; }

private:
    int starts_ = 0;
};

/// A result that reads a key; if the key is odd, decoding fails before the rest is read.
struct HalfDecoded {
    int key = 0, rest = 0;
    void encode_to(Writer& writer) const {
        encode(writer, key);
        encode(writer, rest);
    }
    static HalfDecoded decode_from(Reader& reader) {
        auto const key = decode<int>(reader);
        if (key % 2 != 0) throw std::range_error("half decoded");
        return {key, decode<int>(reader)};
    }
};

PoolOptions options_of(unsigned byte) {
    PoolOptions options;
    options.workers = Workers(1, 1 + static_cast<int>(byte % 3));
    options.prefetch = static_cast<int>(byte / 4 % 3);
    options.progress = Progress::off;
    return options;
}

struct Game {
    explicit Game(Script script_)
        : script(script_), master(std::make_shared<Master>(options_of(script.next()),
                                                           std::make_unique<WildPlacement>())) {
        master->start_workers();
    }

    void step() {
        auto const what = script.next();
        try {
            if (what % 16 == 0) return submit();
            if (what % 16 == 1) return barrier();
            if (what % 32 == 2 && !results.empty())
                return results[what / 32 % results.size()].cancel();
            if (what % 64 == 3) return master->resize(Workers(1, 1 + static_cast<int>(what / 64)));
        } catch (Error const&) {
            return;  // the pool is broken
        }
        Lock const lock(runtime().guard);
        auto const worker = find(what / 16);
        if (worker == nullptr) return;
        if (what % 16 == 4) return end(*worker);
        if (what % 16 == 5) return worker->fall_silent(script.next() % 2 == 0);
        if (what % 16 < 8) return worker->say(Kind::ready, {});
        if (what % 16 == 8) return revoked(*worker);
        if (what % 16 == 9) {
            auto const kind =
                static_cast<Kind>(static_cast<unsigned>(Kind::ready) + script.next() % 8);
            return worker->say(kind, script.some());
        }
        say_results(*worker);
    }

    void submit() {
        auto const how = script.next();
        TaskOptions options;
        options.chunk = static_cast<int>(how % 4);
        options.retries = static_cast<int>(how / 4 % 3);
        if (how % 2 == 0) options.retry_on = retry_on<std::runtime_error>(2);
        else options.at_most_once = how % 8 == 1;
        std::vector<int> const inputs(script.next() % 16, 1);
        results.push_back(PoolCalls(master, options).map_async([](int x) { return x; }, inputs));
        if (how >= 192)
            undecodable.push_back(PoolCalls(master, options)
                                      .map_async(
                                          [](int x) {
                                              return HalfDecoded{x, x};
                                          },
                                          inputs));
    }

    static WildPort* find(unsigned which) {
        auto const& all = WildPort::living();
        if (all.empty()) return nullptr;
        auto* const port = *std::next(all.begin(), static_cast<long>(which % all.size()));
        return port->ended() ? nullptr : port;
    }

    std::uint64_t batch() {
        auto const byte = script.next();
        if (byte >= 240 || batches().empty()) return byte - 200;
        return std::next(batches().begin(), static_cast<long>(byte % batches().size()))->batch;
    }

    void say_results(WildPort& worker) {
        ResultsHead head{};
        head.batch = batch();
        auto const counts = script.next();
        head.from = counts % 4;
        head.done = counts >= 248 ? ~0U : counts / 4 % 32;
        auto const thrown = script.next();
        head.thrown = thrown >= 252 ? ~0U : thrown < 128 ? 0 : thrown % 4;
        head.busy_ns = script.number();
        Writer body;
        body.write(&head, sizeof head);
        for (unsigned i = 0; i < (head.thrown & 3U); ++i) {
            std::uint32_t const offset = script.next();
            body.write(&offset, sizeof offset);
            ErrorRecord error;
            auto const type = script.next();
            error.type = type % 2 == 0 ? "std::runtime_error" : "std::system_error";
            error.attempt = type / 2 % 4;
            encode(body, error);
        }
        auto const values = script.some();
        body.write(values.data(), values.size());
        auto const all = body.bytes();
        auto const cut = script.next();
        worker.say(Kind::results,
                   all.first(cut < 240 ? all.size() : all.size() * (cut - 240) / 16));
    }

    void revoked(WildPort& worker) {
        RevokedHead head{};
        head.batch = batch();
        head.kept = script.next();
        worker.say(Kind::revoked, std::as_bytes(std::span(&head, 1)));
    }

    void end(WildPort& worker) {
        auto const how = script.next();
        WorkerEnd end;
        end.process.signal = how % 2 == 0 ? 9 : 0;
        end.process.out_of_memory = how % 16 == 15;
        end.verdict = static_cast<Verdict>(how / 2 % 5);
        end.process.lost = how % 8 == 7;
        if (how >= 128) end.running = running_word(batch(), script.next());
        worker.end(end);
    }

    // Drops the tasks and kills the workers, which then end like killed processes.
    void finish() {
        master->terminate();
        for (;;) {
            barrier();
            Lock const lock(runtime().guard);
            if (WildPort::living().empty()) break;
            auto const all = WildPort::living();
            for (auto* const port : all) port->end({});
        }
        master->join();
        for (auto& result : results)
            if (!result.ready()) std::abort();
        for (auto& result : undecodable)
            if (!result.ready()) std::abort();
        results.clear();
        undecodable.clear();
        master.reset();
        barrier();
        batches().clear();
    }

    Script script;
    std::shared_ptr<Master> master;
    std::vector<AsyncResult<std::vector<int>>> results;
    std::vector<AsyncResult<std::vector<HalfDecoded>>> undecodable;
};

}  // namespace

std::string sinew::process::ChildEnd::text() const { return "ended"; }

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
    Game game(Script{std::as_bytes(std::span(data, size))});
    while (!game.script.left.empty()) game.step();
    game.finish();
    return 0;
}
