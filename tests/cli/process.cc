// SPDX-License-Identifier: Apache-2.0
#include "tests/cli/process.h"

#include <fcntl.h>
#include <poll.h>
#include <pty.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <stdexcept>

namespace spillway::test {
namespace {

using Clock = std::chrono::steady_clock;

struct Pipe {
  int read = -1, write = -1;
  Pipe() {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) throw std::runtime_error("pipe");
    read = ends[0];
    write = ends[1];
  }
};

void Close(int& fd) {
  if (fd >= 0) close(fd);
  fd = -1;
}

std::vector<std::string> Environment(const ProcessOptions& options) {
  std::map<std::string, std::string> all = {
      {"PATH", "/usr/bin:/bin"}, {"LC_ALL", "C.UTF-8"}, {"TERM", "xterm"}};
  // Sanitizer builds read their settings from here.
  for (const char* name : {"ASAN_OPTIONS", "UBSAN_OPTIONS", "LSAN_OPTIONS"}) {
    if (const char* value = std::getenv(name)) all[name] = value;
  }
  for (const auto& [name, value] : options.env) all[name] = value;
  std::vector<std::string> lines;
  for (const auto& [name, value] : all) lines.push_back(name + "=" + value);
  return lines;
}

[[noreturn]] void Child(const std::vector<std::string>& arguments, const ProcessOptions& options, int in,
                        int out, int err) {
  std::vector<std::string> words = {SPILLWAY_BINARY};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<std::string> environment = Environment(options);
  std::vector<char*> argv, envp;
  for (std::string& word : words) argv.push_back(word.data());
  for (std::string& line : environment) envp.push_back(line.data());
  argv.push_back(nullptr);
  envp.push_back(nullptr);
  if (!options.directory.empty() && chdir(options.directory.c_str()) != 0) _exit(126);
  if (!options.stdout_file.empty()) out = open(options.stdout_file.c_str(), O_WRONLY);
  dup2(in, 0);
  dup2(out, 1);
  dup2(err, 2);
  if (options.close_stdout) close(1);
  std::signal(SIGPIPE, SIG_DFL);
  std::signal(SIGINT, SIG_DFL);
  execve(SPILLWAY_BINARY, argv.data(), envp.data());
  _exit(127);
}

/// Feeds and drains until all streams are closed.
void Exchange(pid_t pid, const ProcessOptions& options, int in, int out, int err, ProcessResult& result) {
  const Clock::time_point start = Clock::now();
  std::size_t sent = 0;
  bool interrupted = options.interrupt_after_ms == 0;
  while (out >= 0 || err >= 0) {
    if (sent == options.input.size() && !options.keep_input_open) Close(in);
    pollfd streams[] = {
        {sent < options.input.size() ? in : -1, POLLOUT, 0}, {out, POLLIN, 0}, {err, POLLIN, 0}};
    poll(streams, 3, 20);
    const auto elapsed = std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - start).count();
    if (!interrupted && elapsed >= options.interrupt_after_ms) {
      kill(pid, SIGINT);
      interrupted = true;
    }
    if (elapsed > 120'000) kill(pid, SIGKILL);
    if (in >= 0 && streams[0].revents != 0) {
      const ssize_t n = write(in, options.input.data() + sent, options.input.size() - sent);
      if (n > 0) sent += static_cast<std::size_t>(n);
      if (n < 0 && errno != EINTR && errno != EAGAIN) Close(in);
    }
    const auto drain = [](int& fd, short events, std::string& text) {
      if (fd < 0 || events == 0) return;
      char buffer[4096];
      const ssize_t n = read(fd, buffer, sizeof buffer);
      if (n > 0) text.append(buffer, static_cast<std::size_t>(n));
      if (n == 0 || (n < 0 && errno != EINTR)) Close(fd);  // a terminal ends with EIO
    };
    drain(out, streams[1].revents, result.out);
    drain(err, streams[2].revents, result.err);
  }
  Close(in);
}

}  // namespace

ProcessResult Run(const std::vector<std::string>& arguments, const ProcessOptions& options) {
  std::signal(SIGPIPE, SIG_IGN);
  Pipe in, out, err;
  if (options.terminal) {
    Close(err.read);
    Close(err.write);
    if (openpty(&err.read, &err.write, nullptr, nullptr, nullptr) != 0) throw std::runtime_error("openpty");
    fcntl(err.read, F_SETFD, FD_CLOEXEC);
    fcntl(err.write, F_SETFD, FD_CLOEXEC);
  }
  if (options.break_stdout) Close(out.read);
  const pid_t pid = fork();
  if (pid < 0) throw std::runtime_error("fork");
  if (pid == 0) Child(arguments, options, in.read, out.write, err.write);
  Close(in.read);
  Close(out.write);
  Close(err.write);
  ProcessResult result;
  Exchange(pid, options, in.write, out.read, err.read, result);
  int status = 0;
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  result.code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return result;
}

}  // namespace spillway::test
