// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <systemc>

#include <memory>
#include <string>

namespace spillway::engine {

/// One fresh SystemC kernel. SystemC keeps its state in globals: this is the only place that swaps
/// them, so that several runs can follow each other in one process (never at the same time).
class SimContext {
 public:
  SimContext();
  ~SimContext();
  SimContext(const SimContext&) = delete;
  SimContext& operator=(const SimContext&) = delete;

  /// Runs until nothing is left to do or `sc_stop`. Exceptions thrown in processes come out as
  /// they are; a SystemC report of severity error or fatal comes out as InternalError.
  void Run();

 private:
  sc_core::sc_simcontext* previous_;
  std::unique_ptr<sc_core::sc_simcontext> context_;
};

}  // namespace spillway::engine
