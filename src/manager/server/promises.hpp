// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "src/manager/protocol.hpp"
#include "src/manager/server/dispatcher.hpp"

namespace sinew::manager {

/// Calls whose results are handles that are called before they have arrived: what is to be called of
/// them waits here until it is known of which object. Without threads, links or time.
class Promises {
public:
    enum class State : std::uint8_t {
        waiting,
        here,       ///< an object of this manager
        elsewhere,  ///< ... of another: the caller, who hears so as well, calls there
        failed,     ///< what is called of it has the same answer
    };
    struct Outcome {
        State state = State::waiting;
        ObjectId object = 0;           ///< here
        Op op = Op::gone;              ///< failed
        std::vector<std::byte> bytes;  ///< of the answer
    };

    /// A call whose result may be called. `makes`: its result is the id of an object.
    void expect(Client client, std::uint64_t number, bool makes,
                process::Reservation reserved = {});
    /// Null: there is none of this number.
    Outcome const* find(Client client, std::uint64_t number) const;
    /// Until the promise, which is waiting, has an outcome.
    void wait(Client client, std::uint64_t number, Call call);
    /// The call is being answered: what had waited for it, in its order. `origin`: of this process.
    /// Null: nobody expected that.
    struct Settled {
        Outcome outcome;
        std::vector<Call> waited;
    };
    std::optional<Settled> answered(Client client, std::uint64_t number, Op op,
                                    std::span<std::byte const> bytes, std::uint64_t origin);
    /// True: the call waited, and does not any more.
    bool cancel(Client client, std::uint64_t number);
    /// Objects that have come of promises to the client.
    std::vector<ObjectId> objects_of(Client client) const;
    /// Nothing more will be called of it.
    void forget(Client client, std::uint64_t number);
    void lost(Client client);
    bool empty() const { return promises_.empty(); }

private:
    using Key = std::pair<Client, std::uint64_t>;
    struct Promise {
        Outcome outcome;
        std::vector<Call> waiting;
        bool makes = false, forgotten = false;
        process::Reservation reserved{};  ///< of what the client may have here
    };
    static Outcome outcome_of(Promise const& promise, Op op, std::span<std::byte const> bytes,
                              std::uint64_t origin);
    std::map<Key, Promise> promises_;
};

}  // namespace sinew::manager
