// SPDX-License-Identifier: Apache-2.0
#include "sim/cli/interrupt.h"

#include <unistd.h>

#include <csignal>

#include "sim/cli/exit_code.h"

namespace spillway::cli {
namespace {

std::atomic<bool> in_scope{false};
std::atomic<bool> stop_requested{false};
static_assert(std::atomic<bool>::is_always_lock_free, "needed in a signal handler");

extern "C" void OnInterrupt(int) {
  if (!in_scope || stop_requested.exchange(true)) _exit(kExitInterrupted);
}

}  // namespace

void HandleInterrupts() {
  struct sigaction action {};
  action.sa_handler = OnInterrupt;
  sigemptyset(&action.sa_mask);
  action.sa_flags = SA_RESTART;
  // A shell that started us in the background ignores the signal on our behalf: leave it so.
  struct sigaction old {};
  if (sigaction(SIGINT, nullptr, &old) == 0 && old.sa_handler == SIG_IGN) return;
  sigaction(SIGINT, &action, nullptr);
}

InterruptScope::InterruptScope() {
  stop_requested = false;
  in_scope = true;
}
InterruptScope::~InterruptScope() { in_scope = false; }
const std::atomic<bool>& InterruptScope::requested() const { return stop_requested; }

}  // namespace spillway::cli
