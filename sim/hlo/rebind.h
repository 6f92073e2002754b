// SPDX-License-Identifier: Apache-2.0
// A module compiled for one value of a symbol, rewritten for another (docs/rebind.md).
#pragma once

#include <functional>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "sim/hlo/module.h"

namespace spillway::hlo {

/// A symbol and its values: the one the module was compiled for and the wanted one.
struct Binding {
  std::string symbol;
  std::int64_t from = 0, to = 0;
};

/// Windows of a kernel whose code can be read, each with the grid axis that moves every dimension.
struct KernelWindows {
  struct Dimension {
    std::int64_t length = 1;  ///< Elements.
    int axis = -1;            ///< Grid axis; -1: always the same block.
  };
  std::vector<std::int64_t> grid;                ///< Outermost first.
  std::vector<std::vector<Dimension>> windows;   ///< Operands, then results.
  /// The kernel's code; `iteration_bounds = array<i64: …>` in it is what a rewrite replaces.
  std::string text;
};

struct RebindRequest {
  std::vector<Binding> bindings;
  /// Entry parameter (its own name, the name in its metadata or its number) -> dimensions that bind. Empty:
  /// every dimension of an entry parameter that has the size of a symbol, if that is no guess (below).
  std::map<std::string, std::vector<int>> dimensions;
  /// Tells what a custom kernel does; empty, or an empty answer: it cannot be rewritten.
  std::function<std::optional<KernelWindows>(const Instruction&)> kernel_windows;
};

struct Rebound {
  std::unique_ptr<Module> module;
  std::vector<std::string> bound;        ///< "q[0]": parameter dimensions that were bound.
  std::vector<std::string> assumptions;  ///< What was decided without proof, one sentence each.
};

/// The module with every dimension that depends on a symbol rewritten, and with it layouts, attributes,
/// trip counts and the grids of readable kernels. `window_config` is left as it is: it needs the planner
/// (plan::RebindPlan).
/// Errors, at their place: a binding that no dimension has; dimensions of equal size of which it is not known
/// whether they bind (two dimensions of one parameter, or parameters of different shape, that no instruction
/// equates); a contradiction; a slice, pad, constant or kernel whose new form does not follow.
Result<Rebound> Rebind(const Module& module, const RebindRequest& request);

/// What changes in an instruction.
struct InstructionEdit {
  std::optional<Shape> shape;
  std::optional<std::string> literal;
  std::map<std::string, std::string, std::less<>> attributes;  ///< Replaced; an empty value removes.
  /// Becomes a bitcast of that instruction.
  const Instruction* replacement = nullptr;
  bool drop = false;
};
using ModuleEdits = std::unordered_map<const Instruction*, InstructionEdit>;

/// The module with `edits` made, parsed and checked again. `file` names it in diagnostics.
Result<std::unique_ptr<Module>> Rewrite(const Module& module, const ModuleEdits& edits, const std::string& file);

}  // namespace spillway::hlo
