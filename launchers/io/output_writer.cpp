// SPDX-License-Identifier: Apache-2.0
#include "launchers/io/output_writer.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>

#include "launchers/common/write_output.hpp"
#include "src/base/system/signals_blocked.hpp"

namespace sinew::launch {

OutputWriter::OutputWriter(wire::Loop& loop, std::function<void()> on_idle)
    : gate_(loop), on_idle_(std::move(on_idle)) {
    SignalsBlocked const blocked;  // the loop's thread handles the signals
    thread_ = std::thread([this] { work(); });
}

OutputWriter::~OutputWriter() {
    {
        std::lock_guard const lock(mutex_);
        ending_ = true;
    }
    changed_.notify_one();
    thread_.join();
    gate_.close();
}

void OutputWriter::write(int fd, std::string bytes, Written written) {
    push({fd, {}, std::move(bytes), std::move(written)});
}

void OutputWriter::write_file(std::string path, std::string bytes, Written written) {
    push({-1, std::move(path), std::move(bytes), std::move(written)});
}

void OutputWriter::push(Piece piece) {
    ++waiting_;
    {
        std::lock_guard const lock(mutex_);
        pieces_.push_back(std::move(piece));
    }
    changed_.notify_one();
}

int OutputWriter::perform(Piece const& piece) {
    if (piece.fd >= 0) return write_output(piece.fd, piece.bytes);
    bool const first = begun_.insert(piece.path).second;
    if (first) {
        std::error_code ignored;  // open reports the error
        std::filesystem::create_directories(std::filesystem::path(piece.path).parent_path(),
                                            ignored);
    }
    int const file = ::open(piece.path.c_str(),
                            O_WRONLY | O_CREAT | O_CLOEXEC | (first ? O_TRUNC : O_APPEND), 0666);
    if (file < 0) return errno;
    int const error = write_output(file, piece.bytes);
    // File systems with quotas or servers may report only on close that there was no room.
    return ::close(file) != 0 && error == 0 ? errno : error;
}

void OutputWriter::work() {
    for (;;) {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [this] { return ending_ || !pieces_.empty(); });
        if (pieces_.empty()) return;
        auto piece = std::move(pieces_.front());
        pieces_.pop_front();
        lock.unlock();
        int const error = perform(piece);
        gate_.post([this, error, written = std::move(piece.written)] {
            --waiting_;
            ++written_;
            if (written) written(error);
            if (idle() && on_idle_) on_idle_();
        });
    }
}

}  // namespace sinew::launch
