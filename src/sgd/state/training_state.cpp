// SPDX-License-Identifier: Apache-2.0
#include <sinew/sgd/training_state.hpp>

#include <algorithm>
#include <array>
#include <cstring>
#include <list>
#include <map>
#include <new>
#include <random>
#include <set>
#include <utility>

#include <sinew/error.hpp>
#include <sinew/request.hpp>

#include "src/base/log.hpp"
#include "src/base/state_folder.hpp"
#include "src/base/text.hpp"
#include "src/comm/communicator_state.hpp"
#include "src/sgd/parameters.hpp"
#include "src/sgd/state/copy_holders.hpp"
#include "src/sgd/state/held_parts.hpp"
#include "src/sgd/state/part_content.hpp"
#include "src/sgd/state/part_id.hpp"
#include "src/sgd/state/state_item.hpp"
#include "src/sgd/state/together.hpp"

namespace sinew {

using sgd::CommitId;
using sgd::HeldParts;
using sgd::PartId;
using sgd::StateItem;
using sgd::StoredItem;
using Bytes = TrainingState::Bytes;

namespace {

enum Tag : int { size_tag = 1, content_tag };

Buffer bytes_at(std::span<std::byte> bytes) {
    return {bytes.data(), bytes.size(), DataType::Kind::u8};
}
ConstBuffer bytes_at(std::span<std::byte const> bytes) {
    return {bytes.data(), bytes.size(), DataType::Kind::u8};
}
Buffer bytes_at(Bytes& bytes) { return bytes_at(std::span(bytes)); }

}  // namespace

class TrainingState::State {
public:
    State(Communicator& comm, std::filesystem::path folder, StateOptions options)
        : comm_(comm.dup()), together_(comm_, options.timeout), folder_(std::move(folder)),
          options_(options) {
        together_.require_equal("TrainingState: options must be equal",
                                text("keep ", options_.keep, ", copies ", options_.copies));
        together_.all("TrainingState", [this] {
            if (options_.keep < 1 || options_.copies < 1)
                throw UsageError(text("keep is ", options_.keep, ", copies is ", options_.copies,
                                      " (each must be at least 1)"));
            std::error_code error;
            std::filesystem::create_directories(folder_, error);
            if (error)
                throw SystemError(text(folder_.string(), " cannot be created: ", error.message()),
                                  error.value());
            store_ = std::make_unique<StateFolder>(folder_ / text("rank-", comm_.rank()));
        });
    }

    void add(std::vector<StateItem>& items, StateItem item) {
        if (!names_.insert(item.name).second)
            throw UsageError(text("TrainingState: \"", item.name, "\" was added before"));
        if (!item.save && item.elements.data == nullptr && item.elements.count > 0)
            throw UsageError(text("TrainingState: \"", item.name, "\" has ", item.elements.count,
                                  " elements at address null"));
        items.push_back(std::move(item));
    }
    std::vector<StateItem>& shared() { return shared_; }
    std::vector<StateItem>& own() { return own_; }

    void commit(std::uint64_t step) {
        run("TrainingState::commit", [&] { commit_parts(step); });
    }

    std::optional<std::uint64_t> restore() {
        std::optional<std::uint64_t> step;
        run("TrainingState::restore", [&] { step = restore_parts(); });
        return step;
    }

    void sync(int root) {
        run("TrainingState::sync", [&] {
            std::vector<Buffer> elements;
            for (StateItem const& item : shared_) elements.push_back(item.elements);
            require_same_items("TrainingState::sync", text("root ", root));
            sgd::copy_from_root(comm_, elements, root, options_.timeout, "TrainingState::sync");
        });
    }

private:
    using Parts = std::map<PartId, sgd::PartContent>;

    /// Runs a collective call. An error that the other ranks cannot know of (there was no memory) ends the
    /// communicator, so that they do not wait.
    template <class Call>
    void run(char const* what, Call const& call) {
        try {
            call();
        } catch (Error const&) {
            throw;
        } catch (...) {
            abandon(what);
            throw;
        }
    }
    /// Called in a handler.
    void abandon(char const* what) noexcept try {
        try {
            throw;
        } catch (std::bad_alloc const&) {
            comm_.state().abandon(text(what, ": there is not enough memory"));
        } catch (std::exception const& error) {
            comm_.state().abandon(text(what, ": ", error.what()));
        }
    } catch (...) {
        comm_.state().abandon({});
    }

    void commit_parts(std::uint64_t step) {
        require_same_items("TrainingState::commit", "step " + std::to_string(step));
        CommitId const id = next_commit(step);
        std::string const what = text("TrainingState::commit of step ", step);
        Parts parts;
        PartId const mine{id, comm_.rank()};
        together_.all(what, [&] {
            if (!own_.empty()) sgd::describe(own_, parts[mine]);
            auto const holders = sgd::shared_holders(comm_.nodes(), options_.copies);
            if (!shared_.empty() && std::ranges::find(holders, comm_.rank()) != holders.end())
                sgd::describe(shared_, parts[{id, PartId::shared}]);
        });
        if (!own_.empty()) exchange_copies(mine, parts);
        // If the ranks cannot agree, the others may take it for complete: what was written stays.
        if (auto const problem = together_.agree(what, [&] { write(parts); })) {
            remove([&](PartId const& part) { return part.commit == id; });
            std::rethrow_exception(problem);
        }
        remove_old();
    }

    std::optional<std::uint64_t> restore_parts() {
        require_same_items("TrainingState::restore", "");
        HeldParts held = gather_held();
        std::string problem;
        for (CommitId const& id : held.commits()) {
            if (!own_.empty() && id.ranks != comm_.size())
                throw UsageError(text("TrainingState::restore: the commit of step ", id.step,
                                      " in ", folder_.string(), " is of ", id.ranks,
                                      " ranks, and the program adds parts of their own (here are ",
                                      comm_.size(), " ranks). Start as many"));
            auto const parts = HeldParts::needed(id, !shared_.empty(), !own_.empty());
            std::map<PartId, Bytes> read;
            while (!held.missing(parts)) {
                if (!read_parts(parts, held, read)) continue;  // others may have them
                distribute(id, held, read);
                take(id, read);
                return id.step;
            }
            if (problem.empty())
                problem = text("of the newest, ", id.number, " of step ", id.step, ", ",
                               held.missing(parts)->text(), " is missing or damaged");
        }
        if (problem.empty()) return std::nullopt;
        throw Error(text("TrainingState::restore: there are commits in ", folder_.string(),
                         ", but none is complete: ", problem,
                         ". Bring it back, or remove the folder to start again"));
    }

    /// Own elements may have other counts on other ranks.
    void require_same_items(std::string const& call, std::string argument) {
        for (StateItem const& item : shared_) argument += " \"" + item.description() + '"';
        for (StateItem const& item : own_) argument += " own \"" + item.name + '"';
        together_.require_equal(call, argument);
        if (shared_.empty() && own_.empty())
            throw UsageError(text(call, ": nothing was added to the state"));
    }

    CommitId next_commit(std::uint64_t step) {
        std::uint64_t highest = 0;
        for (PartId const& part : held()) highest = std::max(highest, part.commit.number);
        auto const numbers = together_.gather(highest);
        std::random_device random;
        auto const nonces = together_.gather(std::uint64_t{random()} << 32 | random());
        return {.number = *std::ranges::max_element(numbers) + 1,
                .nonce = nonces[0],
                .step = step,
                .ranks = comm_.size()};
    }

    /// Sends this rank's part to those that store copies of it, and receives those of others.
    void exchange_copies(PartId const& mine, Parts& parts) {
        auto const sizes =
            together_.gather(std::as_bytes(std::span<std::uint64_t const>(parts.at(mine).sizes())));
        CallOptions const call{.timeout = options_.timeout};
        struct Message {
            int rank;
            std::span<std::byte const> sent;
            std::span<std::byte> received;
        };
        std::vector<Message> messages;
        std::vector<Request> requests;
        together_.all(text("TrainingState::commit of step ", mine.commit.step), [&] {
            for (int owner = 0; owner < comm_.size(); ++owner)
                for (int const holder : sgd::copy_holders(comm_.nodes(), owner, options_.copies)) {
                    if (holder == comm_.rank())
                        for (auto const size : numbers_of(sizes[static_cast<std::size_t>(owner)]))
                            messages.push_back({owner, {}, parts[{mine.commit, owner}].add(size)});
                    if (owner == comm_.rank())
                        for (auto const piece : parts.at(mine).pieces())
                            messages.push_back({holder, piece, {}});
                }
            std::erase_if(messages, [](Message const& message) {
                return message.sent.empty() && message.received.empty();
            });
            requests.reserve(messages.size());
        });
        try {
            for (Message const& message : messages)
                requests.push_back(
                    message.received.empty()
                        ? comm_.isend(bytes_at(message.sent), message.rank, content_tag, call)
                        : comm_.irecv(bytes_at(message.received), message.rank, content_tag, call));
        } catch (...) {  // before the requests end, which may wait
            abandon("TrainingState::commit");
            throw;
        }
        for (Request& request : requests) request.wait();
    }
    static std::vector<std::uint64_t> numbers_of(Bytes const& bytes) {
        std::vector<std::uint64_t> numbers(bytes.size() / sizeof(std::uint64_t));
        if (!numbers.empty()) std::memcpy(numbers.data(), bytes.data(), bytes.size());
        return numbers;
    }

    void write(Parts const& parts) const {
        for (auto const& [part, content] : parts) store_->write(part.text(), content.pieces());
    }

    std::vector<PartId> held() const {
        std::vector<PartId> parts;
        for (std::string const& name : store_->names())
            if (auto const part = PartId::parse(name)) parts.push_back(*part);
        return parts;
    }
    template <class Which>
    void remove(Which const& which) const noexcept {
        quietly([&] {
            for (PartId const& part : held())
                if (which(part)) store_->remove(part.text());
        });
    }
    /// Removes what is older than the commits to keep. Called when all parts of the newest are on disk.
    void remove_old() const noexcept {
        quietly([&] {
            std::set<std::uint64_t> numbers;
            for (PartId const& part : held()) numbers.insert(part.commit.number);
            while (numbers.size() > static_cast<std::size_t>(options_.keep))
                numbers.erase(numbers.begin());
            for (PartId const& part : held())
                if (part.commit.number < *numbers.begin()) store_->remove(part.text());
        });
    }
    /// What stays is removed after the next commit.
    template <class Removal>
    static void quietly(Removal const& removal) noexcept try {
        try {
            removal();
        } catch (std::exception const& error) {
            log_warning(text("an old part of a commit stays: ", error.what()));
        }
    } catch (std::exception const&) {  // no memory for the warning
    }

    HeldParts gather_held() {
        std::string names;
        together_.all("TrainingState::restore", [&] {
            for (std::string const& name : store_->names()) names += name + '\n';
        });
        std::vector<std::vector<std::string>> by_rank;
        for (Bytes const& one : together_.gather(std::as_bytes(std::span(names))))
            by_rank.push_back(lines_of(one));
        return HeldParts(by_rank);
    }
    static std::vector<std::string> lines_of(Bytes const& bytes) {
        std::vector<std::string> lines(1);
        for (std::byte const byte : bytes)
            if (byte == std::byte{'\n'}) lines.emplace_back();
            else lines.back() += static_cast<char>(byte);
        return lines;
    }

    /// Reads the parts of which this rank is the reader. Returns whether all ranks could; those that
    /// could not are no longer among the holders.
    bool read_parts(std::vector<PartId> const& parts, HeldParts& held,
                    std::map<PartId, Bytes>& read) {
        std::string failed;
        for (PartId const& part : parts) {
            if (held.reader_of(part) != comm_.rank() || read.contains(part)) continue;
            try {
                auto content = store_->read(part.text());
                if (!content) throw Error(text(part.text(), " has disappeared"));
                sgd::items_of(*content);
                read[part] = std::move(*content);
            } catch (std::exception const& error) {
                log_warning(text("TrainingState::restore: ", error.what()));
                failed += part.text() + '\n';
            }
        }
        bool all = true;
        auto const by_rank = together_.gather(std::as_bytes(std::span(failed)));
        for (int rank = 0; rank < comm_.size(); ++rank)
            for (std::string const& name : lines_of(by_rank[static_cast<std::size_t>(rank)]))
                if (auto const part = PartId::parse(name)) {
                    held.strike(*part, rank);
                    all = false;
                }
        return all;
    }

    /// Gives the parts that were read to the ranks that need them. All ranks have memory for theirs, or
    /// all throw.
    void distribute(CommitId const& id, HeldParts const& held, std::map<PartId, Bytes>& read) {
        CallOptions const call{.timeout = options_.timeout};
        PartId const shared{id, PartId::shared}, mine{id, comm_.rank()};
        int const root = shared_.empty() ? -1 : held.reader_of(shared);
        int const reader = own_.empty() ? comm_.rank() : held.reader_of(mine);
        std::vector<std::uint64_t> shared_size(1), own_size(1);
        std::list<std::vector<std::uint64_t>> sizes;
        std::vector<Request> sends;
        auto const others = [&](auto const& give) {
            for (auto& [part, content] : read)
                if (part.owner != PartId::shared && part.owner != comm_.rank())
                    give(part.owner, content);
        };
        if (root >= 0) {
            if (root == comm_.rank()) shared_size[0] = read.at(shared).size();
            comm_.broadcast(shared_size, root, call);
        }
        others([&](int owner, Bytes const& content) {
            auto& size = sizes.emplace_back(1, content.size());
            sends.push_back(comm_.isend(size, owner, size_tag, call));
        });
        if (reader != comm_.rank()) comm_.recv(own_size, reader, size_tag, call);
        Bytes shared_content, own_content;
        together_.all(text("TrainingState::restore of step ", id.step), [&] {
            if (root >= 0 && root != comm_.rank()) shared_content.resize(shared_size[0]);
            own_content.resize(own_size[0]);
        });
        others([&](int owner, Bytes& content) {
            sends.push_back(comm_.isend(bytes_at(content), owner, content_tag, call));
        });
        if (root >= 0) {
            Bytes& content = root == comm_.rank() ? read.at(shared) : shared_content;
            comm_.broadcast(bytes_at(content), root, call);
        }
        if (reader != comm_.rank()) comm_.recv(bytes_at(own_content), reader, content_tag, call);
        for (Request& send : sends) send.wait();
        if (root >= 0 && root != comm_.rank()) read[shared] = std::move(shared_content);
        if (reader != comm_.rank()) read[mine] = std::move(own_content);
    }

    void take(CommitId const& id, std::map<PartId, Bytes> const& read) {
        std::string const what = text("TrainingState::restore of step ", id.step);
        std::vector<StoredItem> shared, own;
        together_.all(what, [&] {
            if (!shared_.empty()) shared = sgd::matching(read.at({id, PartId::shared}), shared_);
            if (!own_.empty()) own = sgd::matching(read.at({id, comm_.rank()}), own_);
        });
        together_.all(what, [&] {
            for (std::size_t i = 0; i < shared.size(); ++i) shared_[i].take(shared[i].bytes);
            for (std::size_t i = 0; i < own.size(); ++i) own_[i].take(own[i].bytes);
        });
    }

    Communicator comm_;
    sgd::Together together_;
    std::filesystem::path folder_;
    StateOptions options_;
    std::unique_ptr<StateFolder> store_;
    std::set<std::string> names_;
    std::vector<StateItem> shared_, own_;
};

TrainingState::TrainingState(Communicator& comm, std::filesystem::path folder, StateOptions options)
    : state_(std::make_unique<State>(comm, std::move(folder), options)) {}
TrainingState::TrainingState(TrainingState&&) noexcept = default;
TrainingState& TrainingState::operator=(TrainingState&&) noexcept = default;
TrainingState::~TrainingState() = default;

void TrainingState::add_shared(std::string name, Buffer elements) {
    state_->add(state_->shared(), {.name = std::move(name), .elements = elements});
}
void TrainingState::add_own(std::string name, Buffer elements) {
    state_->add(state_->own(), {.name = std::move(name), .elements = elements});
}
void TrainingState::add_own(std::string name, std::function<Bytes()> save,
                            std::function<void(std::span<std::byte const>)> load) {
    if (!save || !load)
        throw UsageError(
            text("TrainingState: \"", name, "\" lacks a function to ", save ? "load" : "save"));
    state_->add(state_->own(),
                {.name = std::move(name), .save = std::move(save), .load = std::move(load)});
}
void TrainingState::commit(std::uint64_t step) { state_->commit(step); }
std::optional<std::uint64_t> TrainingState::restore() { return state_->restore(); }
void TrainingState::sync(int root) { state_->sync(root); }

}  // namespace sinew
