// SPDX-License-Identifier: Apache-2.0
#include "src/pool/worker/fork_guard.hpp"

#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>

#include "src/base/log.hpp"
#include "src/pool/worker/progress_report.hpp"

namespace sinew::pool {
namespace {

std::atomic<process::StatusPage*> shared_page{nullptr};
std::atomic<Progress*> executing{nullptr};
std::atomic<bool> forked{false};

// Runs in a forked child before fork() returns. Replaces the shared status page by a private copy.
void in_child() {
    auto* const page = shared_page.load();
    if (page == nullptr) return;
    forked.store(true);
    auto const size = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
    if (reinterpret_cast<std::uintptr_t>(page) % size == 0)
        ::mmap(page, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    if (auto* const progress = executing.load()) progress->forget_all();
}

}  // namespace

void watch_forks(process::StatusPage* page) {
    shared_page.store(page);
    static int const registered = ::pthread_atfork(nullptr, nullptr, in_child);
    static_cast<void>(registered);
}

void watch_forks_of(Progress* progress) { executing.store(progress, std::memory_order_relaxed); }

void end_if_forked() {
    if (!forked.load(std::memory_order_relaxed)) return;
    log_warning(
        "a task has forked, and the child came back from the task: the child ends. Let it "
        "exec or _exit");
    ::_exit(1);
}

}  // namespace sinew::pool
