// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include <sinew/meta.hpp>
#include <sinew/remote_error.hpp>
#include <sinew/task/codec.hpp>

#include "src/process/runtime.hpp"
#include "src/process/shared/shared_file.hpp"

namespace sinew::pool {

// Messages between the master of a pool and a worker, as codec values in the frames of a link. A
// payload above `large` is sent in pieces over the bulk link, before the message that refers to it:
// Piece frames of one transfer in order, then the message with `transfer` set.

constexpr std::size_t large = std::size_t{1} << 20;
constexpr std::size_t piece_size = std::size_t{1} << 20;

enum class Kind : std::uint8_t {
    // to the worker
    function = process::kinds::child,  ///< FunctionHead, state: before the first batch of a job
    tasks,      ///< TasksHead, arguments of the tasks in a row (unless in a transfer)
    revoke,     ///< BatchHead
    stop_task,  ///< BatchHead: ask the running task to stop
    forget,     ///< JobHead: no more batches of this job
    release,    ///< end when all work is done
    fenced,     ///< your messages do not count any more: end
    mapped,     ///< MappedHead: the answer to results_file
    // to the master
    ready,    ///< ReadyHead
    refused,  ///< text: it is another program, or its initializer failed (an ErrorRecord's text)
    results,  ///< ResultsHead, errors, results in a row (unless in a transfer)
    results_file,  ///< ResultsFileHead: a complete results message is in that file
    revoked,       ///< RevokedHead: asked for or not, and perhaps again with fewer tasks kept
    recycled,      ///< over its limit of memory: asks to be replaced
    // both ways, on the bulk link
    piece,  ///< PieceHead, bytes
};

struct FunctionHead {
    std::uint64_t job;
    std::uint64_t task_id;                       ///< detail::TaskId
    std::uint64_t soft_limit_ns, hard_limit_ns;  ///< of one task; 0: none
};
struct TasksHead {
    std::uint64_t job, batch;
    std::uint64_t first;  ///< index of the first task
    std::uint32_t count;
    std::uint32_t attempt;
    std::uint64_t transfer;  ///< 0: the arguments follow
};
struct BatchHead {
    std::uint64_t batch;
};
struct JobHead {
    std::uint64_t job;
};
struct ReadyHead {
    std::uint64_t pid;
};
/// Results of the tasks `from` .. `done`-1 (offsets in the batch). Tasks that threw have no result.
/// The head is followed `thrown` times by a u32 offset and an ErrorRecord (codec), then by the
/// results of the other tasks in order.
struct ResultsHead {
    std::uint64_t batch;
    std::uint32_t from, done;
    std::uint32_t thrown;
    std::uint32_t reserved;
    std::uint64_t busy_ns;
    std::uint64_t transfer;  ///< 0: errors and results follow
};
/// Payloads above `large` of a worker with WorkerStart::maps_files: its master, on the same host,
/// maps the file. The worker waits for the answer; if the master cannot map it, the payload is sent
/// in pieces.
struct ResultsFileHead {
    std::uint64_t transfer;
    process::FilePlace file;  ///< ResultsHead, errors, results in a row
};
struct MappedHead {
    std::uint64_t transfer;
    std::uint64_t
        done;  ///< 1: the worker's descriptor is not needed any more; 0: it cannot be mapped
};
struct RevokedHead {
    std::uint64_t batch;
    std::uint32_t kept;
    std::uint32_t reserved;
};
struct PieceHead {
    std::uint64_t transfer;
    std::uint64_t total;  ///< bytes of the whole transfer
};

/// What a worker is told at its start (ChildSpec::message), by codec.
struct WorkerStart {
    std::string program;            ///< detail::program_identity().text of the master
    std::uint64_t initializer = 0;  ///< detail::TaskId; 0: none
    std::string initializer_arguments;
    std::uint64_t max_rss_bytes = 0;  ///< 0: no limit
    std::uint64_t heartbeat_ms = 250;
    std::uint64_t lease_ms =
        5000;        ///< without a sign of life of its parent for so long, it ends itself; 0: never
    Meta meta = {};  ///< for the process that starts it
    bool maps_files = false;  ///< the master is its parent: see ResultsFileHead

    template <class Archive>
    void serialize(Archive& archive) {
        archive(program, initializer, initializer_arguments, max_rss_bytes, heartbeat_ms, lease_ms,
                meta.cpu, meta.memory_mib, meta.gpu, maps_files);
    }
};

/// Values of StatusPage::running: the batch (lower 32 bits of its id) and the offset of the task
/// being executed.
constexpr std::uint64_t nothing_running = ~std::uint64_t{0};
constexpr std::uint64_t running_word(std::uint64_t batch, std::uint32_t offset) {
    return batch << 32 | offset;
}
/// Values of StatusPage::verdict: why a worker ended itself.
enum class Verdict : std::uint64_t { none, hard_limit, lease_over, memory_limit };

}  // namespace sinew::pool
