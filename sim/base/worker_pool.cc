// SPDX-License-Identifier: Apache-2.0
#include "sim/base/worker_pool.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <optional>
#include <utility>

namespace spillway {
namespace {

constexpr int kPollMs = 100;

bool WriteFully(int fd, const void* data, std::size_t size) {
  const char* at = static_cast<const char*>(data);
  while (size > 0) {
    const ssize_t n = write(fd, at, size);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    at += n;
    size -= static_cast<std::size_t>(n);
  }
  return true;
}

bool ReadFully(int fd, void* data, std::size_t size) {
  char* at = static_cast<char*>(data);
  while (size > 0) {
    const ssize_t n = read(fd, at, size);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    at += n;
    size -= static_cast<std::size_t>(n);
  }
  return true;
}

/// Descriptors of the parent would keep its pipes and locks alive.
void CloseAllBut(int keep_a, int keep_b) {
  const unsigned low = static_cast<unsigned>(std::min(keep_a, keep_b)), high = static_cast<unsigned>(std::max(keep_a, keep_b));
  if (low > 3) close_range(3, low - 1, 0);
  if (high > low + 1) close_range(low + 1, high - 1, 0);
  close_range(high + 1, ~0U, 0);
}

[[noreturn]] void WorkerMain(int jobs, int replies, pid_t parent, const WorkerPool& pool) {
  std::signal(SIGINT, SIG_IGN);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(0);
  CloseAllBut(jobs, replies);
  std::uint64_t job = 0;
  while (ReadFully(jobs, &job, sizeof job)) {
    std::string reply;
    try {
      reply = pool.work(static_cast<std::size_t>(job));
    } catch (...) {
      _exit(1);
    }
    const std::uint64_t size = reply.size();
    if (!WriteFully(replies, &size, sizeof size) || !WriteFully(replies, reply.data(), reply.size())) break;
  }
  _exit(0);
}

std::string HowItEnded(int status) {
  if (WIFSIGNALED(status)) {
    return fmt::format("the worker process was killed by signal {} ({})", WTERMSIG(status), strsignal(WTERMSIG(status)));
  }
  return fmt::format("the worker process ended with code {}", WIFEXITED(status) ? WEXITSTATUS(status) : -1);
}

struct Worker {
  pid_t pid = -1;
  int jobs = -1, replies = -1;  // our ends
  std::optional<std::size_t> busy;
  std::string buffer;           // bytes of a reply that is still coming in

  std::optional<std::string> TakeReply() {
    std::uint64_t size = 0;
    if (buffer.size() < sizeof size) return std::nullopt;
    std::memcpy(&size, buffer.data(), sizeof size);
    if (buffer.size() - sizeof size < size) return std::nullopt;
    std::string reply = buffer.substr(sizeof size, size);
    buffer.erase(0, sizeof size + size);
    return reply;
  }
};

class Runner {
 public:
  Runner(const std::vector<std::size_t>& jobs, const WorkerPool& pool) : jobs_(jobs), pool_(pool) {}
  ~Runner() {
    for (Worker& worker : workers_) End(worker, true);
  }
  Runner(const Runner&) = delete;
  Runner& operator=(const Runner&) = delete;

  Result<bool> Run() {
    while (true) {
      const Status filled = Fill();
      if (!filled.ok()) return filled.errors();
      if (workers_.empty()) return true;
      Wait();
      if (!replies_.empty()) {
        const Status accepted = pool_.done(std::exchange(replies_, {}));
        if (!accepted.ok()) return accepted.errors();
      }
      if (pool_.stop()) return false;
    }
  }

 private:
  /// Gives idle workers jobs, starts missing workers, lets go of those without work.
  Status Fill() {
    for (std::size_t i = 0; i < workers_.size();) {
      Worker& worker = workers_[i];
      if (!worker.busy && !Hand(worker)) {
        End(worker, false);
        workers_.erase(workers_.begin() + static_cast<std::ptrdiff_t>(i));
      } else {
        ++i;
      }
    }
    while (next_ < jobs_.size() && workers_.size() < static_cast<std::size_t>(pool_.workers)) {
      Worker worker;
      if (!Start(worker)) {
        if (!workers_.empty()) return Done{};  // fewer will do
        return Error(fmt::format("cannot start a worker process: {}", std::strerror(errno)));
      }
      Hand(worker);
      workers_.push_back(std::move(worker));
    }
    return Done{};
  }

  bool Start(Worker& worker) {
    int down[2], up[2];
    if (pipe2(down, O_CLOEXEC) != 0) return false;
    if (pipe2(up, O_CLOEXEC) != 0) {
      close(down[0]);
      close(down[1]);
      return false;
    }
    const pid_t parent = getpid();
    worker.pid = fork();
    if (worker.pid == 0) WorkerMain(down[0], up[1], parent, pool_);
    close(down[0]);
    close(up[1]);
    worker.jobs = down[1];
    worker.replies = up[0];
    if (worker.pid < 0) {
      const int error = errno;
      close(worker.jobs);
      close(worker.replies);
      errno = error;
      return false;
    }
    return true;
  }

  /// False: there is no job left, or the worker is dead (its end is noticed by Wait).
  bool Hand(Worker& worker) {
    if (next_ == jobs_.size()) return false;
    worker.busy = jobs_[next_++];
    const std::uint64_t job = *worker.busy;
    WriteFully(worker.jobs, &job, sizeof job);  // a failure shows as the end of its replies
    return true;
  }

  void Wait() {
    std::vector<pollfd> streams;
    for (const Worker& worker : workers_) streams.push_back({worker.replies, POLLIN, 0});
    if (poll(streams.data(), streams.size(), kPollMs) <= 0) return;
    for (std::size_t i = streams.size(); i-- > 0;) {
      if (streams[i].revents != 0) Receive(i);
    }
  }

  void Receive(std::size_t index) {
    Worker& worker = workers_[index];
    char bytes[4096];
    const ssize_t n = read(worker.replies, bytes, sizeof bytes);
    if (n < 0 && (errno == EINTR || errno == EAGAIN)) return;
    if (n <= 0) {
      const std::string how = End(worker, false);
      if (worker.busy) replies_.push_back({*worker.busy, true, how});
      workers_.erase(workers_.begin() + static_cast<std::ptrdiff_t>(index));
      return;
    }
    worker.buffer.append(bytes, static_cast<std::size_t>(n));
    if (std::optional<std::string> reply = worker.TakeReply()) {
      replies_.push_back({*worker.busy, false, std::move(*reply)});
      worker.busy.reset();
    }
  }

  static std::string End(Worker& worker, bool force) {
    if (worker.pid < 0) return "";
    if (force) kill(worker.pid, SIGKILL);
    close(worker.jobs);
    close(worker.replies);
    int status = 0;
    while (waitpid(worker.pid, &status, 0) < 0 && errno == EINTR) {
    }
    worker.pid = -1;
    return HowItEnded(status);
  }

  const std::vector<std::size_t>& jobs_;
  const WorkerPool& pool_;
  std::size_t next_ = 0;
  std::vector<Worker> workers_;
  std::vector<JobReply> replies_;
};

}  // namespace

Result<bool> RunPool(const std::vector<std::size_t>& jobs, const WorkerPool& pool) {
  SPILLWAY_CHECK(pool.workers > 0);
  return Runner(jobs, pool).Run();
}

}  // namespace spillway
