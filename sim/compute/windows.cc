// SPDX-License-Identifier: Apache-2.0
#include "sim/compute/windows.h"

#include "sim/compute/registers.h"

namespace spillway::compute {

Windows WindowsOver(const hlo::Shape& domain, const hlo::WindowConfig& config) {
  Windows windows;
  windows.trips.assign(domain.rank(), 1);
  for (std::int64_t bound : config.iteration_bounds) {
    if (bound > 0) windows.steps *= static_cast<double>(bound);
  }
  if (config.output_bounds.size() != static_cast<std::size_t>(domain.rank()) || domain.rank() == 0) return windows;
  hlo::TileGrid grid = hlo::GridOf(domain);
  double product = 1, coverage = 1;
  std::vector<double> trips;
  trips.assign(domain.rank(), 1);
  for (int i = 0; i < domain.rank(); ++i) {
    // Bounds stand in memory order, major first.
    int d = static_cast<int>(domain.MinorDimension(domain.rank() - 1 - i));
    double bound = static_cast<double>(config.output_bounds[i]), tiles = static_cast<double>(grid.count[d]);
    if (bound < 1 || tiles < 1) return windows;
    trips[d] = CeilDiv(tiles, bound);
    product *= trips[d];
    // A window larger than the tensor is cut to it.
    if (bound < tiles) coverage *= trips[d] * bound / tiles;
  }
  // Contraction loops come on top of the output's.
  if (product > windows.steps + 0.5) return windows;
  windows.stated = true;
  windows.trips = std::move(trips);
  windows.coverage = coverage;
  return windows;
}

bool SeesAll(const hlo::WindowDimension& window, double length) {
  return window.size > 1 && static_cast<double>(window.size) >= 2 * length - 1 && window.stride == 1 &&
         static_cast<double>(window.padding_low) >= length - 1;
}

}  // namespace spillway::compute
