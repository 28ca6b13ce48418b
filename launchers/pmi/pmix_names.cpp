// SPDX-License-Identifier: Apache-2.0
#include "launchers/pmi/pmix_names.hpp"

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <string_view>

namespace sinew::launch {
namespace {

using Blob = PmixServer::Blob;
using State = std::shared_ptr<PmixUpcallState>;

// PMIx's own buffer type, whose base_ptr is malloc'ed.
class Buffer {
public:
    Buffer() = default;
    explicit Buffer(Blob const& from) {
        buffer_.base_ptr = static_cast<char*>(std::malloc(from.size() + 1));
        if (buffer_.base_ptr == nullptr) return;
        if (!from.empty()) std::memcpy(buffer_.base_ptr, from.data(), from.size());
        buffer_.pack_ptr = buffer_.base_ptr + from.size();
        buffer_.unpack_ptr = buffer_.base_ptr;
        buffer_.bytes_allocated = buffer_.bytes_used = from.size();
    }
    Buffer(Buffer const&) = delete;
    Buffer& operator=(Buffer const&) = delete;
    ~Buffer() { std::free(buffer_.base_ptr); }
    pmix_data_buffer_t* get() { return &buffer_; }
    Blob bytes() const {
        auto const* begin = reinterpret_cast<std::byte const*>(buffer_.base_ptr);
        return {begin, begin + buffer_.bytes_used};
    }

private:
    pmix_data_buffer_t buffer_{};
};

// Packs the publisher and the value, of whatever type, in the library's format.
bool pack(PmixLibrary const& library, pmix_proc_t process, pmix_info_t const& info, Blob& bytes) {
    Buffer buffer;
    auto* const value = const_cast<pmix_value_t*>(&info.value);
    bool const ok = library.pack(nullptr, buffer.get(), &process, 1, PMIX_PROC) == PMIX_SUCCESS &&
                    library.pack(nullptr, buffer.get(), value, 1, PMIX_VALUE) == PMIX_SUCCESS;
    if (ok) bytes = buffer.bytes();
    return ok;
}

bool unpack(PmixLibrary const& library, Blob const& bytes, pmix_pdata_t& found) {
    Buffer buffer(bytes);
    std::int32_t one = 1;
    if (library.unpack(nullptr, buffer.get(), &found.proc, &one, PMIX_PROC) != PMIX_SUCCESS)
        return false;
    one = 1;
    return library.unpack(nullptr, buffer.get(), &found.value, &one, PMIX_VALUE) == PMIX_SUCCESS;
}

// Collects the answers to several requests, and answers the client once when all have come.
struct Gathering {
    State state;
    std::mutex mutex;
    std::size_t missing = 0;
    bool all_ok = true;
    std::vector<std::pair<std::string, Blob>> found;
    std::function<void(Gathering&)>
        finish;  // called with `state->mutex` held, if the server is alive
};

PmixServer::Reply part_of(std::shared_ptr<Gathering> const& whole, std::string key) {
    auto const done = std::make_shared<std::atomic_flag>();
    return [whole, done, key = std::move(key)](bool ok, Blob const& data) {
        if (done->test_and_set()) return;
        {
            std::lock_guard const lock(whole->mutex);
            whole->all_ok = whole->all_ok && ok;
            if (ok) whole->found.emplace_back(key, data);
            if (--whole->missing != 0) return;
        }
        std::lock_guard const lock(whole->state->mutex);
        if (whole->state->alive) whole->finish(*whole);
    };
}

std::shared_ptr<Gathering> gather(PmixNameCall const& call, std::size_t count,
                                  pmix_status_t failure) {
    auto whole = std::make_shared<Gathering>();
    whole->state = call.state;
    whole->missing = count;
    whole->finish = [=, callback = call.callback, data = call.callback_data](Gathering& all) {
        callback(all.all_ok ? PMIX_SUCCESS : failure, data);
    };
    return whole;
}

std::vector<std::string> words(char** keys) {
    std::vector<std::string> all;
    for (; keys != nullptr && *keys != nullptr; ++keys) all.emplace_back(*keys);
    return all;
}

void answer_lookup(Gathering& all, pmix_lookup_cbfunc_t callback, void* callback_data) {
    auto const& library = *all.state->library;
    std::vector<pmix_pdata_t> results;
    for (auto const& [key, bytes] : all.found) {
        pmix_pdata_t found{};
        if (!unpack(library, bytes, found)) continue;
        std::strncpy(found.key, key.c_str(), PMIX_MAX_KEYLEN);
        results.push_back(found);
    }
    callback(results.empty() ? PMIX_ERR_NOT_FOUND : PMIX_SUCCESS, results.data(), results.size(),
             callback_data);
    for (auto& result : results) library.destruct_value(&result.value);
}

}  // namespace

pmix_status_t publish_names(PmixNameCall const& call, pmix_info_t const infos[],
                            std::size_t count) {
    std::vector<std::pair<std::string, Blob>> published;
    for (std::size_t i = 0; i < count; ++i) {
        // Keys with this prefix are directives (range, persistence), not data. They are ignored: a
        // name lives as long as its job and is visible to all of it.
        if (std::string_view(infos[i].key).starts_with("pmix.")) continue;
        Blob bytes;
        if (!pack(*call.state->library, *call.process, infos[i], bytes))
            return PMIX_ERR_NOT_SUPPORTED;
        published.emplace_back(infos[i].key, std::move(bytes));
    }
    if (published.empty()) return PMIX_ERR_BAD_PARAM;
    auto const whole = gather(call, published.size(), PMIX_ERR_DUPLICATE_KEY);
    for (auto& [key, bytes] : published)
        call.state->upcalls.publish(key, std::move(bytes), part_of(whole, key));
    return PMIX_SUCCESS;
}

pmix_status_t unpublish_names(PmixNameCall const& call, char** keys) {
    auto const names = words(keys);
    if (names.empty()) return PMIX_ERR_BAD_PARAM;
    auto const whole = gather(call, names.size(), PMIX_ERR_NOT_FOUND);
    for (auto const& name : names) call.state->upcalls.unpublish(name, part_of(whole, name));
    return PMIX_SUCCESS;
}

pmix_status_t look_up_names(State const& state, char** keys, pmix_lookup_cbfunc_t callback,
                            void* callback_data) {
    auto const names = words(keys);
    if (names.empty()) return PMIX_ERR_BAD_PARAM;
    auto const whole = std::make_shared<Gathering>();
    whole->state = state;
    whole->missing = names.size();
    // The library does not hand this callback to its own thread, though it uses that thread's data.
    whole->finish = [callback, callback_data](Gathering& all) {
        auto copy = std::make_shared<Gathering>();
        copy->state = all.state;
        copy->found = all.found;
        all.state->library->on_its_thread(
            [copy, callback, callback_data] { answer_lookup(*copy, callback, callback_data); });
    };
    for (auto const& name : names) state->upcalls.lookup(name, part_of(whole, name));
    return PMIX_SUCCESS;
}

}  // namespace sinew::launch
