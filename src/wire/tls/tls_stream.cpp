// SPDX-License-Identifier: Apache-2.0
#include "src/wire/tls/tls_stream.hpp"

#include <openssl/bio.h>
#include <openssl/err.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>
#include <utility>
#include <vector>

namespace sinew::wire {
namespace {

constexpr std::size_t input_size = std::size_t{128} << 10;
// Bytes that are encrypted before they are given to the kernel: many small messages in one call,
// but only part of a large one, so that the other end decrypts it while the rest is encrypted (a
// round trip of 64 KiB takes 130 us instead of 250).
constexpr std::size_t output_batch = std::size_t{32} << 10;
// AES-GCM keys are good for 2^24.5 records (RFC 8446, 5.5); ours are changed long before.
constexpr std::size_t bytes_per_key = std::size_t{16} << 30;

// Clears errors that other code left in this thread's queue, which would be taken for ours.
// Checking first is faster, since there seldom are any.
void forget_errors() {
    if (ERR_peek_error() != 0) ERR_clear_error();
}

struct FreeSsl {
    void operator()(SSL* ssl) const { SSL_free(ssl); }
};

/// Runs OpenSSL between two memory buffers: its socket BIO would raise SIGPIPE, and make a system
/// call for each record.
class TlsStream : public Stream {
public:
    TlsStream(SSL_CTX* context, Role role, UniqueFd fd);

    Moved read(std::span<std::byte> room) override;
    bool buffered() const override { return begin_ != end_ || SSL_pending(ssl_.get()) > 0; }
    Moved write(std::span<iovec const> blocks) override;
    std::size_t unsent() const override { return output_.size() - sent_; }
    int fd() const override { return fd_.get(); }
    std::string const& problem() const override { return problem_; }

    int take(char* room, int size);
    int put(char const* bytes, int size);

private:
    bool receive();
    Moved::Status flush();
    Moved::Status explain(int result);
    bool proven();

    UniqueFd fd_;
    std::unique_ptr<SSL, FreeSsl> ssl_;
    std::unique_ptr<std::byte[]> input_ = std::make_unique_for_overwrite<std::byte[]>(input_size);
    std::size_t begin_ = 0, end_ = 0;
    std::vector<char> output_;
    std::size_t sent_ = 0;       ///< of output_
    std::size_t under_key_ = 0;  ///< bytes encrypted
    Moved::Status input_status_ = Moved::Status::ok;
    std::string problem_;
};

BIO_METHOD const* buffers() {
    static BIO_METHOD* const method = [] {
        BIO_METHOD* const made = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "sinew");
        if (made == nullptr) throw std::bad_alloc();
        BIO_meth_set_read(made, [](BIO* bio, char* room, int size) {
            BIO_clear_retry_flags(bio);
            int const got = static_cast<TlsStream*>(BIO_get_data(bio))->take(room, size);
            if (got < 0) BIO_set_retry_read(bio);
            return got;
        });
        BIO_meth_set_write(made, [](BIO* bio, char const* bytes, int size) {
            BIO_clear_retry_flags(bio);
            return static_cast<TlsStream*>(BIO_get_data(bio))->put(bytes, size);
        });
        BIO_meth_set_ctrl(made, [](BIO*, int command, long, void*) -> long {
            return command == BIO_CTRL_FLUSH ? 1 : 0;
        });
        return made;
    }();
    return method;
}

TlsStream::TlsStream(SSL_CTX* context, Role role, UniqueFd fd)
    : fd_(std::move(fd)), ssl_(SSL_new(context)) {
    BIO* const bio = BIO_new(buffers());
    if (!ssl_ || bio == nullptr) {
        BIO_free(bio);
        throw std::bad_alloc();
    }
    BIO_set_data(bio, this);
    BIO_set_init(bio, 1);
    SSL_set_bio(ssl_.get(), bio, bio);
    if (role == Role::dialler) {
        SSL_set_connect_state(ssl_.get());
    } else {
        SSL_set_accept_state(ssl_.get());
    }
}

// Called by OpenSSL: copies received bytes. Returns their number, -1 if there are none yet, 0 at
// the end.
int TlsStream::take(char* room, int size) {
    if (begin_ == end_) return input_status_ == Moved::Status::end ? 0 : -1;
    std::size_t const part = std::min(static_cast<std::size_t>(size), end_ - begin_);
    std::memcpy(room, input_.get() + begin_, part);
    begin_ += part;
    return static_cast<int>(part);
}

int TlsStream::put(char const* bytes, int size) {
    try {
        output_.insert(output_.end(), bytes, bytes + size);
        return size;
    } catch (std::bad_alloc const&) {
        return -1;  // exceptions must not pass through OpenSSL's C code
    }
}

// Makes one system call; returns false if nothing was received.
bool TlsStream::receive() {
    ssize_t const got = ::recv(fd_.get(), input_.get(), input_size, 0);
    begin_ = 0;
    end_ = got > 0 ? static_cast<std::size_t>(got) : 0;
    input_status_ = Moved::Status::ok;
    if (got > 0) return true;
    if (got == 0) {
        input_status_ = Moved::Status::end;
    } else if (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR) {
        input_status_ = Moved::Status::again;
    } else {
        problem_ = std::strerror(errno);
        input_status_ = Moved::Status::failed;
    }
    return false;
}

Moved::Status TlsStream::flush() {
    while (sent_ < output_.size()) {
        ssize_t const put =
            ::send(fd_.get(), output_.data() + sent_, output_.size() - sent_, MSG_NOSIGNAL);
        if (put >= 0) {
            sent_ += static_cast<std::size_t>(put);
        } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
            return Moved::Status::again;
        } else if (errno != EINTR) {
            problem_ = std::strerror(errno);
            return Moved::Status::failed;
        }
    }
    output_.clear();
    sent_ = 0;
    return Moved::Status::ok;
}

// Returns false if the handshake is complete and the other end has not proved that it knows the
// key.
bool TlsStream::proven() {
    if (!SSL_is_init_finished(ssl_.get()) || SSL_session_reused(ssl_.get()) == 1) return true;
    problem_ = "it does not know this job's secret";
    return false;
}

Moved::Status TlsStream::explain(int result) {
    int const error = SSL_get_error(ssl_.get(), result);
    auto const code = ERR_peek_error();
    ERR_clear_error();
    if (error == SSL_ERROR_WANT_READ || error == SSL_ERROR_WANT_WRITE) return Moved::Status::later;
    if (input_status_ == Moved::Status::end) return Moved::Status::end;
    if (error == SSL_ERROR_ZERO_RETURN) return Moved::Status::end;
    char const* const reason = ERR_reason_error_string(code);
    problem_ = reason != nullptr ? reason : "broken TLS";
    return Moved::Status::denied;
}

Moved TlsStream::read(std::span<std::byte> room) {
    forget_errors();
    bool asked = buffered();  // no system call is made then
    // Receives first, since OpenSSL is slow to find nothing; only a handshake may have to start
    // with it.
    if (!asked && SSL_is_init_finished(ssl_.get())) {
        asked = true;
        if (!receive() && input_status_ != Moved::Status::end) return {0, input_status_};
    }
    for (;;) {
        std::size_t got = 0;
        int const result = SSL_read_ex(ssl_.get(), room.data(), room.size(), &got);
        if (result == 1 && !proven()) return {0, Moved::Status::denied};
        if (result == 1) return {got, Moved::Status::ok};
        auto const status = explain(result);
        // Handshake messages and alerts are sent at once; `write` sends the rest.
        if (unsent() > 0) flush();
        if (status != Moved::Status::later) return {0, status};
        if (asked) return {0, Moved::Status::again};
        asked = true;
        if (!receive() && input_status_ != Moved::Status::end) return {0, input_status_};
    }
}

Moved TlsStream::write(std::span<iovec const> blocks) {
    forget_errors();
    Moved moved;
    for (iovec const& block : blocks) {
        auto const* const bytes = static_cast<char const*>(block.iov_base);
        for (std::size_t done = 0; done < block.iov_len;) {
            std::size_t put = 0;
            int const result = SSL_write_ex(ssl_.get(), bytes + done, block.iov_len - done, &put);
            if (result != 1) {
                moved.status = explain(result);
                auto const flushed = flush();
                if (flushed != Moved::Status::ok) moved.status = flushed;
                return moved;
            }
            done += put;
            moved.bytes += put;
            under_key_ += put;
            if (under_key_ > bytes_per_key) {
                under_key_ = 0;
                SSL_key_update(ssl_.get(), SSL_KEY_UPDATE_NOT_REQUESTED);
            }
            if (unsent() < output_batch) continue;
            moved.status = flush();
            if (moved.status != Moved::Status::ok) return moved;
        }
    }
    moved.status = flush();
    return moved;
}

}  // namespace

std::unique_ptr<Stream> make_tls_stream(SSL_CTX* context, Role role, UniqueFd fd) {
    return std::make_unique<TlsStream>(context, role, std::move(fd));
}

}  // namespace sinew::wire
