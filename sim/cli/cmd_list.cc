// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "sim/cli/commands.h"
#include "sim/cli/common_options.h"
#include "sim/cli/paths.h"
#include "sim/cli/session.h"
#include "sim/cli/workloads.h"
#include "sim/config/config_loader.h"
#include "sim/output/export.h"

namespace spillway::cli {
namespace {

using Json = nlohmann::ordered_json;

/// One thing of a list: `name` first, so that scripts can cut it off.
struct Row {
  std::string name;
  std::vector<std::string> more;
};

/// Aligned columns, no header: every line begins with a name.
std::string Columns(const std::vector<Row>& rows) {
  std::vector<std::size_t> widths;
  for (const Row& row : rows) {
    widths.resize(std::max(widths.size(), row.more.size() + 1));
    widths[0] = std::max(widths[0], row.name.size());
    for (std::size_t i = 0; i < row.more.size(); ++i)
      widths[i + 1] = std::max(widths[i + 1], row.more[i].size());
  }
  std::string out;
  for (const Row& row : rows) {
    std::string line = fmt::format("{:<{}}", row.name, widths[0]);
    for (std::size_t i = 0; i < row.more.size(); ++i)
      line += fmt::format("  {:<{}}", row.more[i], widths[i + 1]);
    line.erase(line.find_last_not_of(' ') + 1);
    out += line + "\n";
  }
  return out;
}

ExitCode ListChips(Session& session, const Arguments& arguments) {
  const std::vector<std::string> search = ConfigSearchPath(arguments.All("config-path"));
  std::vector<Row> rows;
  Json json = Json::array();
  ExitCode code = kExitDone;
  for (const std::string& name : config::ListChips(search)) {
    const Result<config::LoadedChip> chip = config::LoadChip({name, {}, {}, search});
    if (!chip.ok()) {
      code = session.Fail(chip.errors());
      continue;
    }
    rows.push_back({name, {chip->config.description}});
    json.push_back({{"name", name}, {"description", chip->config.description}});
  }
  session.out.Write(arguments.Has("json") ? json.dump(2) + "\n" : Columns(rows));
  return code;
}

ExitCode ListWorkloads(Session& session, const Arguments& arguments) {
  std::vector<Row> rows;
  Json json = Json::array();
  ExitCode code = kExitDone;
  for (const NamedWorkload& named : BundledWorkloads()) {
    const Result<config::WorkloadConfig> workload = config::LoadWorkload(named.path);
    if (!workload.ok()) {
      code = session.Fail(workload.errors());
      continue;
    }
    std::string symbols;
    Json all_symbols = Json::object(), variants = Json::array();
    for (const config::WorkloadSymbol& symbol : workload->symbols) {
      symbols += fmt::format("{}{}={}", symbols.empty() ? "" : " ", symbol.name, symbol.default_value);
      all_symbols[symbol.name] = {
          {"description", symbol.description}, {"values", symbol.values}, {"default", symbol.default_value}};
    }
    for (const config::WorkloadVariant& variant : workload->variants) {
      variants.push_back({{"name", variant.name}, {"compiler", variant.compiler}});
    }
    rows.push_back(
        {named.name, {fmt::format("{}", fmt::join(workload->chips, ",")), symbols, workload->description}});
    json.push_back({{"name", named.name},
                    {"description", workload->description},
                    {"chips", workload->chips},
                    {"symbols", all_symbols},
                    {"variants", variants},
                    {"default", {{"chip", workload->default_chip}, {"variant", workload->default_variant}}}});
  }
  session.out.Write(arguments.Has("json") ? json.dump(2) + "\n" : Columns(rows));
  return code;
}

ExitCode ListFormats(Session& session, const Arguments& arguments) {
  std::vector<Row> rows;
  Json json = Json::array();
  for (const output::Format& format : output::Formats()) {
    rows.push_back({format.name, {format.description, fmt::format("{}", fmt::join(format.files, " "))}});
    json.push_back({{"name", format.name}, {"description", format.description}, {"files", format.files}});
  }
  session.out.Write(arguments.Has("json") ? json.dump(2) + "\n" : Columns(rows));
  return kExitDone;
}

ExitCode ListKeys(Session& session, const Arguments& arguments) {
  std::vector<Row> rows;
  Json json = Json::array();
  for (const config::KeyInfo& key : config::ListKeys()) {
    rows.push_back({key.key, {key.type, key.range, key.doc}});
    json.push_back({{"key", key.key}, {"type", key.type}, {"range", key.range}, {"description", key.doc}});
  }
  session.out.Write(arguments.Has("json") ? json.dump(2) + "\n" : Columns(rows));
  return kExitDone;
}

ExitCode RunList(Session& session, const Arguments& arguments) {
  const std::string& what = arguments.positionals().front();
  if (what == "chips") return ListChips(session, arguments);
  if (what == "workloads") return ListWorkloads(session, arguments);
  if (what == "formats") return ListFormats(session, arguments);
  return ListKeys(session, arguments);
}

}  // namespace

Command ListCommand() {
  Command command;
  command.name = "list";
  command.summary = "print the chips, workloads, output formats or configuration keys there are";
  command.positionals = {{"WHAT",
                          "chips, workloads, formats or keys",
                          1,
                          1,
                          Complete::kNothing,
                          {"chips", "workloads", "formats", "keys"}}};
  command.options = {JsonOption(), ConfigPathOption()};
  command.notes = {
      "Each line begins with the name that other commands take. Workloads show the chips they are "
      "compiled for and their symbols with the default value."};
  command.examples = {{"spillway list workloads", "what there is to run"},
                      {"spillway list keys | grep dma", "what --set can change about the DMA engines"}};
  command.run = RunList;
  return command;
}

}  // namespace spillway::cli
