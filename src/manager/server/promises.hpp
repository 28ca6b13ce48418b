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

/// Calls whose results are handles that are called before they have arrived. The calls of such a
/// handle wait here until its object is known. Without threads, links or time.
class Promises {
public:
    enum class State : std::uint8_t {
        waiting,
        here,       ///< an object of this manager
        elsewhere,  ///< an object of another manager: the caller, who is told as well, calls there
        failed,     ///< calls of it get the same answer
    };
    struct Outcome {
        State state = State::waiting;
        ObjectId object = 0;           ///< if here
        Op op = Op::gone;              ///< if failed
        std::vector<std::byte> bytes;  ///< of the answer
    };

    /// Expects a call whose result may be called. `makes`: its result is the id of an object.
    void expect(Client client, std::uint64_t number, bool makes,
                process::Reservation reserved = {});
    /// Null: there is none of this number.
    Outcome const* find(Client client, std::uint64_t number) const;
    /// Adds a call that waits until the promise has an outcome.
    void wait(Client client, std::uint64_t number, Call call);
    /// The call is answered: returns the outcome and the calls that waited for it, in order.
    /// `origin`: of this process. Nothing: the call was not expected.
    struct Settled {
        Outcome outcome;
        std::vector<Call> waited;
    };
    std::optional<Settled> answered(Client client, std::uint64_t number, Op op,
                                    std::span<std::byte const> bytes, std::uint64_t origin);
    /// True: the call waited, and does not any more.
    bool cancel(Client client, std::uint64_t number);
    /// Objects that the client has got by promises.
    std::vector<ObjectId> objects_of(Client client) const;
    /// The result will not be called any more.
    void forget(Client client, std::uint64_t number);
    void lost(Client client);
    bool empty() const { return promises_.empty(); }

private:
    using Key = std::pair<Client, std::uint64_t>;
    struct Promise {
        Outcome outcome;
        std::vector<Call> waiting;
        bool makes = false, forgotten = false;
        process::Reservation reserved{};  ///< from the client's budget
    };
    static Outcome outcome_of(Promise const& promise, Op op, std::span<std::byte const> bytes,
                              std::uint64_t origin);
    std::map<Key, Promise> promises_;
};

}  // namespace sinew::manager
