// SPDX-License-Identifier: Apache-2.0
// Options that several commands share, so that they read the same everywhere.
#pragma once

#include <string>
#include <vector>

#include "sim/cli/command.h"
#include "sim/cli/input.h"
#include "sim/config/config_loader.h"

namespace spillway::cli {

Option JsonOption();
Option ConfigPathOption();
/// --chip, --config, --set, --config-path.
std::vector<Option> ChipOptions();
/// --module, --variant, --bind.
std::vector<Option> InputOptions();
/// --bind-from, --bind-dimensions: INPUT is a dump whose shapes are rewritten.
std::vector<Option> RebindOptions();
Positional InputPositional();
/// What INPUT may be, for the notes of the help.
std::string InputNote();

/// One error for each unknown output format.
Diagnostics CheckFormats(const std::vector<std::string>& formats);

/// The request that those options make.
InputRequest InputRequestOf(const Arguments& arguments);

/// The configuration that those options ask for. `chip`: the name to use (--chip or a default).
/// `--set` without a value is left for the loader to refuse. Its resolved text is made only if there is an --output to
/// write it to.
Result<config::LoadedChip> LoadChipOf(const Arguments& arguments, const std::string& chip);

}  // namespace spillway::cli
