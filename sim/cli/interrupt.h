// SPDX-License-Identifier: Apache-2.0
// Ctrl-C. Outside an InterruptScope it ends the process at once; inside, the first asks the run to
// finish what it has and the second ends the process.
#pragma once

#include <atomic>

namespace spillway::cli {

/// Installs the handler. Call once, before threads.
void HandleInterrupts();

class InterruptScope {
 public:
  InterruptScope();
  ~InterruptScope();
  InterruptScope(const InterruptScope&) = delete;
  InterruptScope& operator=(const InterruptScope&) = delete;
  /// Set once the user has asked to stop.
  const std::atomic<bool>& requested() const;
};

}  // namespace spillway::cli
