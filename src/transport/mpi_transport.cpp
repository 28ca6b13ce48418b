// SPDX-License-Identifier: Apache-2.0
#include "src/transport/mpi_transport.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <climits>
#include <numeric>
#include <string>
#include <type_traits>

#include <sinew/error.hpp>

#include "src/base/system/this_host.hpp"
#include "src/base/text.hpp"
#include "src/base/waiting/polling_pause.hpp"
#include "src/transport/mpi_link.hpp"

namespace sinew {

namespace {

// A ticket holds the request's bits, with a mark for receives in the lowest bit: Open MPI's
// requests are aligned pointers, MPICH's are ints (shifted). Neither is ever 0.
constexpr std::uint64_t receive_mark = 1;
/// Polls after which a cancelled receive is taken for one whose message is arriving.
constexpr int withdrawal_polls = 1000;

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

/// An MPI type of which one item has more bytes than an int can count.
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
    ~LongBytes() { PMPI_Type_free(&type_); }  // transfers in progress keep it alive
    MPI_Datatype type() const { return type_; }

private:
    MPI_Datatype type_ = MPI_DATATYPE_NULL;
};

std::string error_text(int code) {
    std::array<char, MPI_MAX_ERROR_STRING> buffer{};
    int length = 0;
    if (PMPI_Error_string(code, buffer.data(), &length) != MPI_SUCCESS) return "unknown error";
    std::string result(buffer.data(), static_cast<std::size_t>(length));
    std::ranges::replace(result, '\n', ' ');  // MPICH returns an error stack
    return result;
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

int source_of(int from) { return from == any_source ? MPI_ANY_SOURCE : from; }

}  // namespace

MpiTransport::MpiTransport(MPI_Comm comm, std::chrono::nanoseconds timeout)
    : MpiTransport(std::make_shared<detail::MpiLink>(comm, timeout), {}, 0) {}

MpiTransport::MpiTransport(std::shared_ptr<detail::MpiLink> link, std::vector<int> members,
                           std::uint64_t lane)
    : link_(std::move(link)), comm_(link_->comm()), members_(std::move(members)),
      rank_(link_->rank()), size_(link_->size()) {
    auto const tags = link_->tags_of(lane).value();
    first_tag_ = tags.first;
    max_tag_ = tags.count - 1;
    link_->use_lane(lane);
    if (members_.empty()) return;
    size_ = static_cast<int>(members_.size());
    order_.resize(members_.size());
    std::iota(order_.begin(), order_.end(), 0);
    std::ranges::sort(order_, {}, [&](int rank) { return in_link(rank); });
    rank_ = from_link(link_->rank());
}

MpiTransport::~MpiTransport() {
    int finalized = 0;
    PMPI_Finalized(&finalized);
    if (native_ != MPI_COMM_NULL && finalized == 0 && !link_->abandoned) PMPI_Comm_free(&native_);
}

Threading MpiTransport::threading() const { return link_->threading(); }

int MpiTransport::from_link(int rank) const {
    if (rank < 0 || members_.empty()) return rank;
    auto const found =
        std::ranges::lower_bound(order_, rank, {}, [&](int own) { return in_link(own); });
    return found == order_.end() || in_link(*found) != rank ? any_source : *found;
}

Transport::Received MpiTransport::received_of(MPI_Status const& status) const {
    return {from_link(status.MPI_SOURCE), status.MPI_TAG - first_tag_, bytes_of(status)};
}

Transport::Ticket MpiTransport::start_send(int to, int tag, std::span<std::byte const> bytes) {
    MPI_Request request = MPI_REQUEST_NULL;
    int const peer = in_link(to), lane_tag = first_tag_ + tag;
    if (bytes.size() > INT_MAX) [[unlikely]] {
        LongBytes const all(bytes.size());
        require(PMPI_Isend(bytes.data(), 1, all.type(), peer, lane_tag, comm_, &request),
                "MPI_Isend");
    } else {
        auto const count = static_cast<int>(bytes.size());
        require(PMPI_Isend(bytes.data(), count, MPI_BYTE, peer, lane_tag, comm_, &request),
                "MPI_Isend");
    }
    return ticket_of(request, 0);
}

Transport::Ticket MpiTransport::start_receive(int from, int tag, std::span<std::byte> bytes) {
    MPI_Request request = MPI_REQUEST_NULL;
    int const source = source_of(in_link(from)), lane_tag = first_tag_ + tag;
    if (bytes.size() > INT_MAX) [[unlikely]] {
        LongBytes const all(bytes.size());
        require(PMPI_Irecv(bytes.data(), 1, all.type(), source, lane_tag, comm_, &request),
                "MPI_Irecv");
    } else {
        auto const count = static_cast<int>(bytes.size());
        require(PMPI_Irecv(bytes.data(), count, MPI_BYTE, source, lane_tag, comm_, &request),
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
    // fail_transfer() needs the status of a receive even if the caller does not.
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
    link_->abandoned = true;
    if (receive) {
        PMPI_Cancel(&request);
        // Completes at once unless its message is just arriving from a sender that may be dead.
        auto const give_up = std::chrono::steady_clock::now() + std::chrono::milliseconds(100);
        do {
            PMPI_Test(&request, &done, MPI_STATUS_IGNORE);
            if (request == MPI_REQUEST_NULL) return;
            pause_between_polls();
        } while (std::chrono::steady_clock::now() < give_up);
    }
    link_->holds_cancelled = true;
    PMPI_Request_free(&request);
}

// MPI either cancels a receive or lets it complete. A receive that is matched continues unchanged.
bool MpiTransport::withdraw(Ticket& ticket) noexcept {
    if (!ticket || !is_receive(ticket)) return false;
    MPI_Request request = request_of(ticket);
    int done = 0;
    MPI_Status status{};
    PMPI_Request_get_status(request, &done, &status);
    if (done != 0 || PMPI_Cancel(&request) != MPI_SUCCESS) return false;
    // In Open MPI a cancelled receive is complete at once; other libraries must make some progress.
    for (int polls = 0; polls < withdrawal_polls && done == 0; ++polls)
        PMPI_Request_get_status(request, &done, &status);
    int cancelled = 0;
    if (done != 0) PMPI_Test_cancelled(&status, &cancelled);
    if (cancelled == 0) return false;
    PMPI_Test(&request, &done, MPI_STATUS_IGNORE);
    ticket = {};
    return true;
}

bool MpiTransport::holds_cancelled_buffers() const noexcept { return link_->holds_cancelled; }

std::optional<Transport::Received> MpiTransport::probe(int from, int tag) {
    MPI_Status status;
    int found = 0;
    require(PMPI_Iprobe(source_of(in_link(from)), first_tag_ + tag, comm_, &found, &status),
            "MPI_Iprobe");
    if (found == 0) return std::nullopt;
    return received_of(status);
}

void MpiTransport::progress() {
    int found = 0;
    PMPI_Iprobe(MPI_ANY_SOURCE, first_tag_, comm_, &found, MPI_STATUS_IGNORE);
}

void MpiTransport::abandon() noexcept { link_->abandoned = true; }

std::vector<int> MpiTransport::lost() {
    std::vector<int> ranks;
    for (int const rank : link_->ended())
        if (int const own = from_link(rank); own != any_source) ranks.push_back(own);
    std::ranges::sort(ranks);
    return ranks;
}

std::uint64_t MpiTransport::free_lane() const { return link_->free_lane(); }

std::unique_ptr<Transport> MpiTransport::split(std::span<int const> members, std::uint64_t lane) {
    std::vector<int> ranks;
    for (int const member : members) ranks.push_back(in_link(member));
    if (lane > 0 && link_->tags_of(lane))
        return std::unique_ptr<Transport>(new MpiTransport(link_, std::move(ranks), lane));
    return std::unique_ptr<Transport>(new MpiTransport(link_->create_group(ranks), {}, 0));
}

MPI_Comm MpiTransport::native() {
    if (members_.empty()) return comm_;
    if (native_ == MPI_COMM_NULL) native_ = link_->create_comm(members_);
    return native_;
}

void MpiTransport::fail(int code, char const* operation) const {
    throw BackendError(text("rank ", rank_, " of ", size_, " on ", host_name(), ": ", operation,
                            " failed (", error_text(code), ")."),
                       code);
}

void MpiTransport::fail_transfer(int code, bool receive, MPI_Status const& status) const {
    int error_class = MPI_SUCCESS;
    PMPI_Error_class(code, &error_class);
    if (!receive) fail(code, "a send");
    if (error_class != MPI_ERR_TRUNCATE) fail(code, "a receive");
#ifdef OPEN_MPI
    std::string const size = text(" of ", bytes_of(status), " bytes");
#else
    std::string const size;  // MPICH 4.0 fills in the rest of the status, but no size
#endif
    throw BackendError(text("rank ", rank_, " of ", size_, " on ", host_name(), ": a message", size,
                            " from rank ", from_link(status.MPI_SOURCE), " with tag ",
                            status.MPI_TAG - first_tag_, " is longer than the receive for it (",
                            error_text(code), "). Do both ranks make the same calls?"),
                       code);
}

}  // namespace sinew
