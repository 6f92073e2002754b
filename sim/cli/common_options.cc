// SPDX-License-Identifier: Apache-2.0
#include "sim/cli/common_options.h"

#include <algorithm>

#include "sim/cli/options.h"
#include "sim/cli/paths.h"
#include "sim/output/export.h"

namespace spillway::cli {

Option JsonOption() { return {"json", 0, "", "print JSON instead of text"}; }

Option ConfigPathOption() {
  return {"config-path", 0, "DIR", "look for chips in DIR/chips first", true, Complete::kDirectory};
}

std::vector<Option> ChipOptions() {
  return {
      {"chip", 0, "NAME", "the chip: a name of 'spillway list chips' or a YAML file", false, Complete::kChip},
      {"config", 0, "FILE", "YAML that changes values of the chip; later files win", true, Complete::kFile},
      {"set", 0, "KEY=VALUE", "change one value, such as hbm.channels=16; wins over files", true},
      ConfigPathOption(),
  };
}

std::vector<Option> InputOptions() {
  return {
      {"module", 0, "NAME", "which module, if INPUT holds several; otherwise the largest"},
      {"variant", 0, "NAME", "which compiler's dump of a workload, such as old or new"},
      {"bind", 0, "SYMBOL=N", "the size of a workload, such as S=8192", true},
  };
}

std::vector<Option> RebindOptions() {
  return {
      {"bind-from", 0, "SYMBOL=N", "INPUT is a dump compiled for this size: rewrite its shapes for that of --bind",
       true},
      {"bind-dimensions", 0, "PARAMETER:D,...", "which dimensions of a parameter of the dump have that size, such as q:0",
       true},
  };
}

Positional InputPositional() {
  return {"INPUT",
          "HLO text or proto (gzip too), an --xla_dump_to directory, a workload, or - for standard input", 1,
          1, Complete::kInput};
}

std::string InputNote() {
  return "INPUT is what the TPU compiler wrote: a file with the text of compiled.as_text() in JAX, or the "
         "directory of "
         "XLA_FLAGS=\"--xla_dump_to=DIR --xla_dump_hlo_as_text\", whose largest module is taken. The name of "
         "a "
         "workload ('spillway list workloads') or a workload file works as well.";
}

Diagnostics CheckFormats(const std::vector<std::string>& formats) {
  std::vector<std::string> known;
  for (const output::Format& format : output::Formats()) known.push_back(format.name);
  Diagnostics errors;
  for (const std::string& format : formats) {
    if (std::find(known.begin(), known.end(), format) == known.end()) {
      errors.push_back(UnknownWord("format", format, known));
    }
  }
  return errors;
}

InputRequest InputRequestOf(const Arguments& arguments) {
  InputRequest request;
  request.name = arguments.positionals().front();
  request.chip = arguments.Get("chip");
  request.module = arguments.Get("module");
  request.variant = arguments.Get("variant");
  request.bind = arguments.All("bind");
  request.bind_from = arguments.All("bind-from");
  request.bind_dimensions = arguments.All("bind-dimensions");
  return request;
}

Result<config::LoadedChip> LoadChipOf(const Arguments& arguments, const std::string& chip) {
  config::ChipRequest request;
  request.chip = chip;
  request.files = arguments.All("config");
  request.sets = arguments.All("set");
  request.search = ConfigSearchPath(arguments.All("config-path"));
  request.want_resolved = arguments.Has("output");
  return config::LoadChip(request);
}

}  // namespace spillway::cli
