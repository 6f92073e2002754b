// SPDX-License-Identifier: Apache-2.0
#include "sim/engine/sim_context.h"

#include "sim/base/result.h"

namespace spillway::engine {

SimContext::SimContext() : previous_(sc_core::sc_curr_simcontext) {
  using sc_core::sc_report_handler;
  sc_report_handler::set_actions(sc_core::SC_INFO, sc_core::SC_DO_NOTHING);
  sc_report_handler::set_actions(sc_core::SC_WARNING, sc_core::SC_DO_NOTHING);
  sc_report_handler::set_actions(sc_core::SC_ERROR, sc_core::SC_THROW);
  sc_report_handler::set_actions(sc_core::SC_FATAL, sc_core::SC_THROW);  // the default aborts
  context_ = std::make_unique<sc_core::sc_simcontext>();
  sc_core::sc_curr_simcontext = context_.get();
  sc_core::sc_default_global_context = context_.get();
}

SimContext::~SimContext() {
  context_.reset();
  sc_core::sc_curr_simcontext = previous_;
  sc_core::sc_default_global_context = previous_;
}

void SimContext::Run() {
  try {
    sc_core::sc_start();
  } catch (const sc_core::sc_report& report) {
    throw InternalError(std::string("SystemC: ") + report.what());
  }
}

}  // namespace spillway::engine
