// SPDX-License-Identifier: Apache-2.0
#include "src/transport/mpi_transport.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <climits>
#include <thread>
#include <type_traits>

#include <sinew/error.hpp>

#include "src/base/text.hpp"
#include "src/transport/process_watch.hpp"

namespace sinew {

namespace {

// A ticket is the request's bits with a mark for receives in the lowest: Open MPI's requests are
// aligned pointers, MPICH's are ints. Neither is ever 0.
constexpr std::uint64_t receive_mark = 1;

template <class Request>
Transport::Ticket ticket_of(Request request, std::uint64_t mark) {
    if constexpr (std::is_pointer_v<Request>)
        return {reinterpret_cast<std::uintptr_t>(request) | mark};
    else return {std::uint64_t{static_cast<std::uint32_t>(request)} << 1 | mark};
}

template <class Request = MPI_Request>
Request request_of(Transport::Ticket ticket) {
    if constexpr (std::is_pointer_v<Request>)
        return reinterpret_cast<Request>(
            static_cast<std::uintptr_t>(ticket.handle & ~receive_mark));
    else return static_cast<Request>(static_cast<std::uint32_t>(ticket.handle >> 1));
}

bool is_receive(Transport::Ticket ticket) { return (ticket.handle & receive_mark) != 0; }

/// One item that stands for more bytes than an int counts.
class LongBytes {
public:
    explicit LongBytes(std::size_t bytes) {
        constexpr std::size_t block_bytes = std::size_t{1} << 30;
        std::array<int, 2> const lengths{1, static_cast<int>(bytes % block_bytes)};
        auto const whole = bytes - static_cast<std::size_t>(lengths[1]);
        std::array<MPI_Aint, 2> const offsets{0, static_cast<MPI_Aint>(whole)};
        MPI_Datatype block = MPI_DATATYPE_NULL;
        MPI_Datatype blocks = MPI_DATATYPE_NULL;
        PMPI_Type_contiguous(static_cast<int>(block_bytes), MPI_BYTE, &block);
        PMPI_Type_contiguous(static_cast<int>(whole / block_bytes), block, &blocks);
        std::array<MPI_Datatype, 2> const types{blocks, MPI_BYTE};
        PMPI_Type_create_struct(2, lengths.data(), offsets.data(), types.data(), &type_);
        PMPI_Type_commit(&type_);
        PMPI_Type_free(&block);
        PMPI_Type_free(&blocks);
    }
    LongBytes(LongBytes const&) = delete;
    LongBytes& operator=(LongBytes const&) = delete;
    ~LongBytes() { PMPI_Type_free(&type_); }  // transfers under way keep it alive
    MPI_Datatype type() const { return type_; }

private:
    MPI_Datatype type_ = MPI_DATATYPE_NULL;
};

std::string error_text(int code) {
    std::array<char, MPI_MAX_ERROR_STRING> buffer{};
    int length = 0;
    if (PMPI_Error_string(code, buffer.data(), &length) != MPI_SUCCESS) return "unknown error";
    std::string result(buffer.data(), static_cast<std::size_t>(length));
    std::ranges::replace(result, '\n', ' ');  // MPICH tells a stack
    return result;
}

std::string host_name() {
    std::array<char, 256> buffer{};
    ::gethostname(buffer.data(), buffer.size() - 1);
    return buffer.data();
}

std::size_t bytes_of(MPI_Status const& status) {
    int count = 0;
    PMPI_Get_count(&status, MPI_BYTE, &count);
    if (count >= 0) [[likely]]
        return static_cast<std::size_t>(count);
    MPI_Count long_count = 0;  // more than an int holds
    PMPI_Get_elements_x(&status, MPI_BYTE, &long_count);
    return static_cast<std::size_t>(std::max<MPI_Count>(long_count, 0));
}

Transport::Received received_of(MPI_Status const& status) {
    return {status.MPI_SOURCE, status.MPI_TAG, bytes_of(status)};
}

int source_of(int from) { return from == any_source ? MPI_ANY_SOURCE : from; }

/// Everyone's identity, by rank. Collective.
std::vector<ProcessIdentity> exchange_identities(MPI_Comm comm, int size) {
    auto const mine = ProcessIdentity::mine();
    std::vector<ProcessIdentity> all(static_cast<std::size_t>(size));
    PMPI_Allgather(&mine, sizeof mine, MPI_BYTE, all.data(), sizeof mine, MPI_BYTE, comm);
    return all;
}

}  // namespace

MpiTransport::MpiTransport(MPI_Comm comm) {
    PMPI_Comm_rank(comm, &rank_);
    PMPI_Comm_size(comm, &size_);
    require(PMPI_Comm_dup(comm, &comm_), "MPI_Comm_dup");
    learn();
    watch_ = std::make_shared<ProcessWatch const>(exchange_identities(comm_, size_), rank_);
    for (int rank = 0; rank < size_; ++rank) watch_rank_.push_back(rank);
}

MpiTransport::MpiTransport(Adopt, MPI_Comm comm, std::shared_ptr<ProcessWatch const> watch,
                           std::vector<int> watch_rank)
    : comm_(comm), watch_(std::move(watch)), watch_rank_(std::move(watch_rank)) {
    learn();
}

void MpiTransport::learn() {
    PMPI_Comm_set_errhandler(comm_, MPI_ERRORS_RETURN);
    PMPI_Comm_rank(comm_, &rank_);
    PMPI_Comm_size(comm_, &size_);
    int level = MPI_THREAD_SINGLE;
    PMPI_Query_thread(&level);
    threading_ = level == MPI_THREAD_MULTIPLE ? Threading::any : Threading::caller;
    int* upper_bound = nullptr;
    int found = 0;
    PMPI_Comm_get_attr(comm_, MPI_TAG_UB, &upper_bound, &found);
    max_tag_ = found != 0 ? *upper_bound : 32767;  // what the standard promises
}

MpiTransport::~MpiTransport() {
    int finalized = 0;
    PMPI_Finalized(&finalized);
    // Both Open MPI and MPICH free without a word to the others.
    if (finalized == 0 && !abandoned_) PMPI_Comm_free(&comm_);
}

Transport::Ticket MpiTransport::start_send(int to, int tag, std::span<std::byte const> bytes) {
    MPI_Request request = MPI_REQUEST_NULL;
    if (bytes.size() > INT_MAX) [[unlikely]] {
        LongBytes const all(bytes.size());
        require(PMPI_Isend(bytes.data(), 1, all.type(), to, tag, comm_, &request), "MPI_Isend");
    } else {
        auto const count = static_cast<int>(bytes.size());
        require(PMPI_Isend(bytes.data(), count, MPI_BYTE, to, tag, comm_, &request), "MPI_Isend");
    }
    return ticket_of(request, 0);
}

Transport::Ticket MpiTransport::start_receive(int from, int tag, std::span<std::byte> bytes) {
    MPI_Request request = MPI_REQUEST_NULL;
    int const source = source_of(from);
    if (bytes.size() > INT_MAX) [[unlikely]] {
        LongBytes const all(bytes.size());
        require(PMPI_Irecv(bytes.data(), 1, all.type(), source, tag, comm_, &request), "MPI_Irecv");
    } else {
        auto const count = static_cast<int>(bytes.size());
        require(PMPI_Irecv(bytes.data(), count, MPI_BYTE, source, tag, comm_, &request),
                "MPI_Irecv");
    }
    return ticket_of(request, receive_mark);
}

bool MpiTransport::test(Ticket& ticket, Received* received) {
    if (!ticket) return true;
    MPI_Request request = request_of(ticket);
    MPI_Status status{};
    int done = 0;
    bool const receive = is_receive(ticket);
    // The status of a receive is wanted in any case: errors are told with it.
    int const code = PMPI_Test(&request, &done, receive ? &status : MPI_STATUS_IGNORE);
    if (code != MPI_SUCCESS) [[unlikely]] {
        ticket = {};
        fail_transfer(code, receive, status);
    }
    if (done == 0) return false;
    ticket = {};
    if (receive && received) *received = received_of(status);
    return true;
}

void MpiTransport::cancel(Ticket& ticket) noexcept {
    if (!ticket) return;
    MPI_Request request = request_of(ticket);
    bool const receive = is_receive(ticket);
    ticket = {};
    int done = 0;
    PMPI_Test(&request, &done, MPI_STATUS_IGNORE);
    if (request == MPI_REQUEST_NULL) return;
    abandoned_ = true;
    if (receive) {
        PMPI_Cancel(&request);
        // Completes at once, unless its message is coming in right now: then it takes as long as
        // the sender does, who may be dead.
        auto const give_up = std::chrono::steady_clock::now() + std::chrono::milliseconds(100);
        do {
            PMPI_Test(&request, &done, MPI_STATUS_IGNORE);
            if (request == MPI_REQUEST_NULL) return;
            std::this_thread::yield();
        } while (std::chrono::steady_clock::now() < give_up);
    }
    holds_cancelled_ = true;
    PMPI_Request_free(&request);
}

std::optional<Transport::Received> MpiTransport::probe(int from, int tag) {
    MPI_Status status;
    int found = 0;
    require(PMPI_Iprobe(source_of(from), tag, comm_, &found, &status), "MPI_Iprobe");
    if (found == 0) return std::nullopt;
    return received_of(status);
}

std::vector<int> MpiTransport::lost() {
    std::vector<int> ranks;
    auto const ended = watch_->ended();
    if (ended.empty()) return ranks;
    for (int rank = 0; rank < size_; ++rank)
        if (std::ranges::binary_search(ended, watch_rank_[static_cast<std::size_t>(rank)]))
            ranks.push_back(rank);
    return ranks;
}

std::unique_ptr<Transport> MpiTransport::split(std::span<int const> members) {
    std::vector<int> watch_rank;
    for (int const member : members)
        watch_rank.push_back(watch_rank_.at(static_cast<std::size_t>(member)));
    MPI_Group all = MPI_GROUP_NULL;
    MPI_Group group = MPI_GROUP_NULL;
    MPI_Comm comm = MPI_COMM_NULL;
    require(PMPI_Comm_group(comm_, &all), "MPI_Comm_group");
    int code = PMPI_Group_incl(all, static_cast<int>(members.size()), members.data(), &group);
    PMPI_Group_free(&all);
    require(code, "MPI_Group_incl");
    code = PMPI_Comm_create_group(comm_, group, 0, &comm);
    PMPI_Group_free(&group);
    require(code, "MPI_Comm_create_group");
    return std::unique_ptr<Transport>(new MpiTransport({}, comm, watch_, std::move(watch_rank)));
}

void MpiTransport::fail(int code, char const* operation, std::string const& details) const {
    throw BackendError(text("rank ", rank_, " of ", size_, " on ", host_name(), ": ", operation,
                            " failed (", error_text(code), details, ")."),
                       code);
}

void MpiTransport::fail_transfer(int code, bool receive, MPI_Status const& status) const {
    int error_class = MPI_SUCCESS;
    PMPI_Error_class(code, &error_class);
    if (!receive) fail(code, "a send", "");
    if (error_class != MPI_ERR_TRUNCATE) fail(code, "a receive", "");
#ifdef OPEN_MPI
    std::string const size = text(" of ", bytes_of(status), " bytes");
#else
    std::string const size;  // MPICH 4.0 fills in the rest of the status, but no size
#endif
    throw BackendError(text("rank ", rank_, " of ", size_, " on ", host_name(), ": a message", size,
                            " from rank ", status.MPI_SOURCE, " with tag ", status.MPI_TAG,
                            " is longer than the receive for it (", error_text(code),
                            "). Do both ranks make the same calls?"),
                       code);
}

}  // namespace sinew
