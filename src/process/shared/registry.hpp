// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <map>
#include <memory>
#include <optional>
#include <sinew/shared.hpp>
#include <string>
#include <utility>

#include "src/process/rpc/messenger.hpp"
#include "src/process/shared/copies.hpp"
#include "src/process/shared/shared_file.hpp"

namespace sinew::process {

/// The encoded handle of a shared object.
struct SharedHandle {
    ProcessAddress owner;
    std::uint64_t id = 0;
    FilePlace file;  ///< at its owner; a small object has none
    std::uint64_t size = 0;

    void encode_to(Writer& writer) const { encode(writer, std::tie(owner, id, file, size)); }
    static SharedHandle decode_from(Reader& reader) {
        SharedHandle handle;
        std::tie(handle.owner, handle.id, handle.file, handle.size) =
            decode<std::tuple<ProcessAddress, std::uint64_t, FilePlace, std::uint64_t>>(reader);
        return handle;
    }
};

/// The shared objects of this process, and those of others that it has handles of. An object of at
/// most `small_message` bytes is fetched by a message. A larger one is in a file that the processes
/// of the host map, and is sent to each other host once (see SharedCopies).
class SharedRegistry {
public:
    static SharedRegistry& instance() { return Messenger::service<SharedRegistry>(); }
    SharedRegistry(SharedRegistry const&) = delete;

    enum class Route { mapped, fetched };
    Route route(SharedHandle const& handle) const;
    std::shared_ptr<detail::SharedObject> add(std::span<std::byte const> bytes);
    std::shared_ptr<detail::SharedObject> find(SharedHandle handle, Route route);

private:
    class Object;
    struct Own {
        SharedBytes bytes;
        std::optional<SharedFile> file;
        SharedCopies copies;
    };
    struct Fetch {
        bool answered = false;
        SharedBytes bytes;
        FilePlace place;  ///< where another process of this host has it
        std::string why_lost;
    };
    using Key = std::pair<Peer*, std::uint64_t>;

    friend class Messenger;
    explicit SharedRegistry(Messenger& messenger);
    SharedBytes bytes(SharedHandle const& handle, Route route);
    SharedBytes fetch(SharedHandle const& handle);
    Fetch ask(Lock& lock, SharedHandle const& handle, std::shared_ptr<Peer> const& peer,
              std::string const& host);
    SharedBytes keep(std::shared_ptr<Peer> const& peer, std::uint64_t id, SharedBytes const& bytes);
    std::string folder_of_files();
    void message(std::shared_ptr<Peer> const& peer, Message const& message);
    void asked(std::shared_ptr<Peer> const& peer, Message const& message);
    void arrived(std::shared_ptr<Peer> const& peer, Message const& message);
    void answer(std::shared_ptr<Peer> const& peer, Message const& message);
    void ship(std::shared_ptr<Peer> const& peer, std::uint64_t id, Own const& own);
    void let_go(std::uint64_t id);
    void lost(std::shared_ptr<Peer> const& peer, std::string const& why);

    Messenger& messenger_;
    std::uint64_t ids_ = 0;
    std::map<std::uint64_t, Own> own_;
    std::map<Key, SharedFile> kept_;  ///< of other hosts, until their owners release them
    std::map<std::pair<std::uint64_t, std::uint64_t>, std::weak_ptr<Object>> known_;
    std::multimap<Key, Fetch*> fetches_;
    std::condition_variable arrived_;
};

}  // namespace sinew::process
