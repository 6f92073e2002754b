// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <systemc>

#include "sim/base/units.h"

namespace spillway::engine {

/// SystemC's default time resolution is one picosecond, so its tick count is our Picos.
inline Picos Now() { return static_cast<Picos>(sc_core::sc_time_stamp().value()); }

inline sc_core::sc_time ToScTime(Picos picos) {
  return sc_core::sc_time::from_value(static_cast<sc_dt::uint64>(picos));
}

}  // namespace spillway::engine
