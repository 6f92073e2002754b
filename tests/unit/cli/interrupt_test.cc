// SPDX-License-Identifier: Apache-2.0
#include "sim/cli/interrupt.h"

#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <csignal>

namespace spillway::cli {
namespace {

/// Exit code of `body` in a process of its own.
template <class Body>
int InChild(const Body& body) {
  const pid_t pid = fork();
  if (pid == 0) {
    std::signal(SIGINT, SIG_DFL);
    HandleInterrupts();
    body();
    _exit(7);
  }
  int status = 0;
  waitpid(pid, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST_CASE("outside a scope an interrupt ends the process") {
  CHECK(InChild([] { std::raise(SIGINT); }) == 130);
  CHECK(InChild([] {
          { const InterruptScope scope; }
          std::raise(SIGINT);
        }) == 130);
}

TEST_CASE("inside a scope the first interrupt asks, the second ends the process") {
  CHECK(InChild([] {
          const InterruptScope scope;
          if (scope.requested()) _exit(1);
          std::raise(SIGINT);
          _exit(scope.requested() ? 2 : 3);
        }) == 2);
  CHECK(InChild([] {
          const InterruptScope scope;
          std::raise(SIGINT);
          std::raise(SIGINT);
        }) == 130);
}

TEST_CASE("a process started with interrupts ignored goes on ignoring them") {
  CHECK(InChild([] {
          std::signal(SIGINT, SIG_IGN);
          HandleInterrupts();
          std::raise(SIGINT);
        }) == 7);
}

}  // namespace
}  // namespace spillway::cli
