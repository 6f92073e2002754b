// SPDX-License-Identifier: Apache-2.0
// A workload file (schema spillway.workload/1, docs/workloads.md): a named family of compiled HLO, one
// dump for each compiler, chip and value of its symbols.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "sim/base/result.h"

namespace spillway::config {

using SymbolValues = std::map<std::string, std::int64_t>;

struct WorkloadSymbol {
  std::string name, description;
  std::vector<std::int64_t> values;
  std::int64_t default_value = 0;
};

/// Entry parameter -> its dimensions that a symbol binds.
using BoundDimensions = std::map<std::string, std::vector<int>>;

/// The output of one compiler.
struct WorkloadVariant {
  std::string name, compiler;
  std::string hlo;  ///< File or dump directory beside the workload file; `{chip}` and `{SYMBOL}` to fill in.
  std::map<std::string, std::vector<std::int64_t>> symbols;  ///< Where only some values exist.
  SymbolValues bind;           ///< `hlo` was compiled for these; other values rewrite its shapes.
  BoundDimensions dimensions;  ///< Which dimensions `bind` means; empty: as far as that is no guess.
};

/// A complete dump (buffer assignment, bundles) of one point.
struct WorkloadDump {
  std::string variant, chip, path;
  SymbolValues symbols;
};

/// A public measurement of one point, for comparison; never an input of the simulation.
struct WorkloadExpectation {
  std::string chip;
  std::string variant;  ///< Empty: not stated.
  std::string timer;    ///< "device", "wall" or "unclear".
  std::string source, note;
  SymbolValues symbols;
  double measured_us = 0;
};

struct WorkloadConfig {
  std::string file;  ///< As it was named.
  std::string name, description;
  std::vector<WorkloadSymbol> symbols;
  std::vector<std::string> chips;
  std::vector<WorkloadVariant> variants;
  std::string default_chip, default_variant;  ///< The first ones if the file does not say.
  std::vector<WorkloadDump> dumps;
  std::vector<WorkloadExpectation> expect;
};

/// A top-level `hlo` instead of `variants` makes one variant named "default".
/// Errors: all of the file at once, each at its place: malformed YAML, unknown, duplicate or missing
/// keys, wrong types, names that are not declared, a `{placeholder}` that is no symbol (or one that `bind` rewrites).
Result<WorkloadConfig> LoadWorkload(const std::string& path);

/// One compiled program of the family.
struct WorkloadPoint {
  std::string chip, variant;
  SymbolValues symbols;
  std::string hlo;   ///< Path of the HLO file or dump directory.
  std::string dump;  ///< Directory of the complete dump; empty if there is none.
  SymbolValues compiled;       ///< WorkloadVariant::bind; symbols not in it have a dump each.
  BoundDimensions dimensions;
};

/// `chip` and `variant` empty: the workload's defaults. `binds`: "S=8192", the last of a symbol wins.
/// Errors: unknown chip, variant or symbol, a value that was not compiled (a symbol in the variant's `bind` may have
/// any positive value); each says what there is.
/// Whether the HLO file exists is not looked at.
Result<WorkloadPoint> SelectPoint(const WorkloadConfig& workload, const std::string& chip,
                                  const std::string& variant, const std::vector<std::string>& binds);

/// All points of the family, in the order of variants, chips and symbol values.
std::vector<WorkloadPoint> AllPoints(const WorkloadConfig& workload);

/// Whether the YAML text calls itself a workload (`schema: spillway.workload/…`).
bool LooksLikeWorkload(const std::string& text);

}  // namespace spillway::config
