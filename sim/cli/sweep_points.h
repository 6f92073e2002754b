// SPDX-License-Identifier: Apache-2.0
// From a point of a sweep (one value for each axis) to a run and its figures.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "sim/cli/prepare.h"
#include "sim/config/sweep_config.h"
#include "sim/sweep/point_result.h"
#include "sim/sweep/points.h"

namespace spillway::cli {

/// Keys of a sweep that are neither symbols of a workload nor keys of the chip.
const std::vector<std::string>& SweepKeys();

/// One error for each key of `sweep` that is none of SweepKeys(), no key of the chip and no symbol of a
/// workload in it; and one if no workload is named.
Diagnostics CheckSweepKeys(const config::SweepConfig& sweep);

/// The path of a file that a sweep names: beside the sweep file if it is there, else as it is.
std::string BesideSweep(const config::SweepConfig& sweep, const std::string& name);

/// Runs points. Each distinct input is read once, by Load; forks of the process share what was read.
class SweepPoints {
 public:
  /// `search`: where chips are. Both references must outlive this object.
  SweepPoints(const config::SweepConfig& sweep, const sweep::PointList& list, std::vector<std::string> search);

  /// Reads the input of a point, unless another point has it already. What is wrong with it is kept for Run;
  /// notes and warnings are returned.
  Diagnostics Load(std::size_t point);
  /// Errors, one for each value of an axis with which no point can work: its input cannot be loaded or rewritten,
  /// there is no such plan or chip. If no point at all can work: what is wrong with the first one. REQUIRES: Load and Cost
  /// of all points.
  Diagnostics CheckValues();
  std::size_t inputs_read() const { return inputs_.size(); }

  /// Digest of all that the result of the point depends on: version, settings, the bytes of the input, the
  /// resolved chip. REQUIRES: Load(point).
  std::string Key(std::size_t point);

  /// Expected time of Run in units of a small point, from the bytes that the program moves.
  /// REQUIRES: Load(point).
  double Cost(std::size_t point);
  /// What planning had to say about inputs that are rewritten for another size, each text once. REQUIRES: Cost of all.
  const Diagnostics& rewriting_notes() const { return rewriting_notes_; }

  /// Plans and replays. REQUIRES: Load(point).
  sweep::PointResult Run(std::size_t point);

  /// "S=512 chip=v6e".
  std::string Name(std::size_t point) const;

 private:
  struct Request {
    InputRequest input;
    std::vector<std::string> sets;
    PlanRequest plan;
  };
  struct LoadedInput {
    std::unique_ptr<Prepared> prepared;  // null: see `errors`
    Diagnostics errors;
    Diagnostics rewriting_errors;        // it cannot be rewritten for the wanted size
    std::string digest;
  };
  struct BaseChip {
    std::shared_ptr<config::LoadedChip> chip;  // null: it cannot be loaded without the axes
    std::string digest;
  };

  Request RequestOf(std::size_t point) const;
  void Apply(const std::string& key, const std::string& value, Request& request) const;
  InputRequest InputRequestFor(const Request& request);
  LoadedInput& InputOf(const Request& request);
  Result<config::LoadedChip> LoadChip(const std::string& chip, const std::vector<std::string>& sets, bool want_resolved);
  const BaseChip& BaseChipOf(const std::string& chip);
  const Diagnostics& ErrorsOf(std::size_t point);
  config::YamlLocation PlaceOf(const std::string& key) const;
  double BytesOf(const Request& request, LoadedInput& input);

  const config::SweepConfig& sweep_;
  const sweep::PointList& list_;
  std::vector<std::string> search_, config_files_;
  std::string config_digest_;
  std::vector<std::string> base_sets_;
  std::map<std::string, LoadedInput> inputs_;
  std::map<std::string, BaseChip> chips_;
  config::ChipFileCache chip_files_;
  std::map<std::string, double> bytes_;
  std::map<std::string, bool> is_workload_;
  std::map<std::size_t, Diagnostics> errors_;  ///< By point, of those that were checked.
  Diagnostics rewriting_notes_;
};

}  // namespace spillway::cli
