// SPDX-License-Identifier: Apache-2.0
// INPUT of the command line -> an HLO module and what else the dump offers.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sim/base/result.h"
#include "sim/config/workload_config.h"
#include "sim/hlo/module.h"
#include "sim/hlo/rebind.h"

namespace spillway::cli {

struct InputRequest {
  std::string name;               ///< As the user wrote it; "-": standard input.
  std::string chip;               ///< Picks the dump of a workload; may be empty.
  std::string module;             ///< --module: which of several; empty: the largest.
  std::vector<std::string> bind;  ///< --bind S=8192: picks the dump of a workload, or what a dump is rewritten for.
  std::vector<std::string> bind_from;        ///< --bind-from S=8192: what a dump was compiled for.
  std::vector<std::string> bind_dimensions;  ///< --bind-dimensions q:0,1: what binds; empty: what is no guess.
  std::string variant;            ///< --variant: the compiler of a workload; empty: its default.
};

struct Input {
  std::string name;  ///< As the user wrote it.
  std::string file;  ///< The file that was read.
  std::unique_ptr<hlo::Module> module;
  /// Shapes are to be rewritten for these values, which needs the chip: MakeProgram does it, from `compiled`.
  std::optional<hlo::RebindRequest> rebind;
  std::unique_ptr<hlo::Module> compiled;  ///< The module as it was read, once `module` is rewritten.
  std::string assignment_file;  ///< XLA's buffer assignment of that module; empty if none.
  std::string llo_directory;    ///< Holds `*final_bundles*`; empty if none.
  std::string chip;             ///< request.chip, else the workload's default chip, else empty.
  config::SymbolValues symbols;  ///< Of the workload, at this point; empty for other inputs.
  std::vector<config::WorkloadExpectation> expect;  ///< What others measured of this very program.
};

/// `name` may be an HLO text or proto (by content, gzip undone), a directory of --xla_dump_to, a
/// workload file, the name of a workload, or "-". Something on disk wins over a workload's name.
/// Notes and warnings go to `notes`. Errors: nothing of that name, several modules with equal right,
/// and all that the readers refuse.
Result<Input> LoadInput(const InputRequest& request, Diagnostics& notes);

/// One compiled module of a dump directory.
struct DumpModule {
  std::string name;  ///< "module_0007.jit_step"
  std::string file;  ///< Path of its final HLO.
  std::uintmax_t size = 0;
  std::string assignment;  ///< Path of its buffer assignment; empty if none.
};

/// The final HLO of every module in a directory of --xla_dump_to, by name. Text wins over proto.
std::vector<DumpModule> FindDumpModules(const std::string& directory);

/// `directory` or its subfolder `llo`, whichever holds final bundles; empty if neither does.
std::string FindBundles(const std::string& directory);

/// Modules in the bytes of a file: HLO text, or a proto if they are binary or the name ends in `.pb`.
Result<std::vector<std::unique_ptr<hlo::Module>>> ReadModules(std::string bytes, const std::string& file);

}  // namespace spillway::cli
