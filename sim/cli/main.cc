// SPDX-License-Identifier: Apache-2.0
#include "sim/cli/interrupt.h"
#include "sim/cli/session.h"
#include "sim/cli/terminal.h"

extern "C" int sc_main(int, char**) { return 0; }  // libsystemc leaves it undefined

int main(int argc, char** argv) {
  spillway::cli::PrepareStandardStreams();
  spillway::cli::HandleInterrupts();
  return spillway::cli::Main(std::vector<std::string>(argv + (argc > 0 ? 1 : 0), argv + argc));
}
