// SPDX-License-Identifier: Apache-2.0
// A directory of LLO files as the TPU compiler writes them (`--xla_jf_dump_to`).
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "sim/base/result.h"
#include "sim/llo/kernel.h"
#include "sim/llo/utilization.h"

namespace spillway::llo {

/// The files of one HLO op: `[<timestamp>-]<op>-NN-final_bundles.txt[.gz]` and
/// `…-final_hlo-static-per-bundle-utilization.txt[.gz]`.
struct KernelFiles {
  std::string op;
  std::string bundles;        ///< Path; empty if only a utilisation file is there.
  std::string utilization;    ///< Path or empty.
};

/// The files of one compiled module. Kernels are parsed when first asked for, and kept.
class Dump {
 public:
  /// Reads the names in `directory` (not below it). Errors: not a directory, no final bundles in it.
  /// A directory may hold several modules (one compile each); the files of one follow its top-level
  /// program in time stamp order. `ops` (names of the module's HLO ops) says which one is meant:
  /// the one that has most of them; without it, the one with the most kernels.
  static Result<Dump> Open(const std::string& directory, const std::vector<std::string>& ops = {},
                           DecodeOptions options = {});

  const std::string& directory() const { return directory_; }
  int module_count() const { return modules_; }
  /// Kernels by op name, sorted; without the program and the `<late-…>` pieces of launch code.
  const std::vector<KernelFiles>& kernels() const { return kernels_; }
  bool has_program() const { return !program_.bundles.empty(); }

  /// The name under which the code of `op` lies: itself, the op that the compiler's deduplication map names,
  /// or the same name without `.clone` suffixes. Empty if there is none.
  std::string Resolve(const std::string& op) const;
  /// Parsed bundles of `op` (after Resolve). Errors: no file, unreadable, not a bundle listing.
  Result<std::shared_ptr<const Kernel>> Load(const std::string& op) const;
  /// Loads the kernels of `ops` at once, one thread a core; Load then has them. What cannot be read is left to it.
  void Preload(const std::vector<std::string>& ops) const;
  /// The top-level program.
  Result<std::shared_ptr<const Kernel>> LoadProgram() const;
  /// Slot use of each bundle. Errors: no file, unreadable, other number of bundles than `kernel`.
  Result<Utilization> LoadUtilization(const std::string& op, const Kernel& kernel) const;
  /// Those of `ops` that have no bundles here.
  std::vector<std::string> Missing(const std::vector<std::string>& ops) const;

 private:
  Result<std::shared_ptr<const Kernel>> LoadFile(const std::string& path) const;
  /// Null if there are no files of that very name.
  const KernelFiles* Find(const std::string& name) const;
  std::string PathOf(const std::string& op) const;

  std::string directory_;
  DecodeOptions options_;
  int modules_ = 1;
  std::vector<KernelFiles> kernels_;
  KernelFiles program_;
  std::map<std::string, std::string> duplicates_;   ///< Op to the op whose code it shares.
  std::map<std::string, std::string> without_clones_;  ///< Name without `.clone` suffixes to the first such op.
  mutable std::map<std::string, std::shared_ptr<const Kernel>> cache_;
};

}  // namespace spillway::llo
