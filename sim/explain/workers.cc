// SPDX-License-Identifier: Apache-2.0
#include "sim/explain/workers.h"

#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace spillway::explain {
namespace {

constexpr int kLookMs = 100;   // How often the parent looks for an interrupt.

struct Message {
  std::size_t job = 0;
  Picos value = 0;
};

struct Worker {
  pid_t pid = -1;
  int pipe = -1;
};

/// Jobs first, first + step, …; a message is smaller than what a pipe takes in one piece.
[[noreturn]] void Work(std::size_t first, std::size_t step, std::size_t jobs, int pipe, const std::function<std::optional<Picos>(std::size_t)>& job) {
  signal(SIGPIPE, SIG_DFL);
  for (std::size_t i = first; i < jobs; i += step) {
    std::optional<Picos> value;
    try {
      value = job(i);
    } catch (...) {
      _exit(1);   // The parent tries again and reports.
    }
    if (!value) continue;
    const Message message = {i, *value};
    if (write(pipe, &message, sizeof message) != static_cast<ssize_t>(sizeof message)) _exit(1);
  }
  _exit(0);   // Without flushing what the parent has yet to write.
}

std::optional<Worker> Start(std::size_t first, std::size_t step, std::size_t jobs, const std::function<std::optional<Picos>(std::size_t)>& job) {
  int ends[2];
  if (pipe(ends) != 0) return std::nullopt;
  const pid_t pid = fork();
  if (pid == 0) {
    close(ends[0]);
    Work(first, step, jobs, ends[1], job);
  }
  close(ends[1]);
  if (pid < 0) {
    close(ends[0]);
    return std::nullopt;
  }
  return Worker{pid, ends[0]};
}

void Collect(std::vector<Worker>& workers, std::vector<std::optional<Picos>>& values, const std::atomic<bool>* interrupted) {
  std::vector<pollfd> open;
  for (const Worker& worker : workers) open.push_back({worker.pipe, POLLIN, 0});
  while (!open.empty()) {
    if (interrupted != nullptr && interrupted->load()) {
      for (const Worker& worker : workers) kill(worker.pid, SIGKILL);
      return;
    }
    if (poll(open.data(), open.size(), kLookMs) <= 0) continue;
    for (std::size_t i = open.size(); i-- > 0;) {
      if (open[i].revents == 0) continue;
      Message message;
      const ssize_t got = read(open[i].fd, &message, sizeof message);
      if (got < 0 && errno == EINTR) continue;
      if (got == static_cast<ssize_t>(sizeof message) && message.job < values.size()) {
        values[message.job] = message.value;
      } else {
        open.erase(open.begin() + static_cast<std::ptrdiff_t>(i));
      }
    }
  }
}

}  // namespace

std::vector<std::optional<Picos>> RunJobs(std::size_t jobs, std::size_t workers, const std::function<std::optional<Picos>(std::size_t)>& job,
                                          const std::atomic<bool>* interrupted) {
  std::vector<std::optional<Picos>> values(jobs);
  workers = std::min(workers, jobs);
  if (workers <= 1) {
    for (std::size_t i = 0; i < jobs && !(interrupted != nullptr && interrupted->load()); ++i) values[i] = job(i);
    return values;
  }
  std::vector<Worker> started;
  for (std::size_t first = 0; first < workers; ++first) {
    if (std::optional<Worker> worker = Start(first, workers, jobs, job)) started.push_back(*worker);
  }
  Collect(started, values, interrupted);
  for (const Worker& worker : started) {
    close(worker.pipe);
    while (waitpid(worker.pid, nullptr, 0) < 0 && errno == EINTR) {
    }
  }
  return values;
}

}  // namespace spillway::explain
