// SPDX-License-Identifier: Apache-2.0
#include "sim/config/plan_config.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "sim/base/file.h"
#include "sim/config/map_reader.h"

namespace spillway::config {
namespace {

constexpr char kSchema[] = "spillway.plan/1";
constexpr std::int64_t kMostDimensions = 64;

class Reader {
 public:
  Reader(PlanConfig& plan, Diagnostics& errors) : plan_(plan), errors_(errors) {}

  void Read(const YamlNode& tree) {
    MapReader map(tree, "the plan", errors_);
    if (const YamlNode* schema = map.Get("schema", true); schema != nullptr && schema->text != kSchema) {
      errors_.push_back(ErrorAtNode(schema->at, fmt::format("'schema' must be {}, not {}", kSchema, DescribeKind(*schema))));
    }
    plan_.name = map.Text("name", true);
    plan_.description = map.Text("description", false);
    if (const YamlNode* base = map.Get("base", false)) Base(*base, map.Text("base", false));
    if (map.Get("keep", false) != nullptr) plan_.keep = map.Texts("keep", false);
    map.Each("groups", false, [&](const YamlNode& item) { Group(item); });
    map.Each("windows", false, [&](const YamlNode& item) { Window(item); });
    map.Finish();
  }

 private:
  void Base(const YamlNode& node, const std::string& base) {
    const std::vector<std::string>& known = PlanBases();
    if (base.empty()) return;
    if (std::find(known.begin(), known.end(), base) == known.end()) {
      errors_.push_back(ErrorAtNode(node.at, fmt::format("unknown plan '{}'", base), fmt::format("known: {}", fmt::join(known, ", "))));
      return;
    }
    plan_.base = base;
  }

  void Group(const YamlNode& item) {
    PlanGroup group;
    MapReader map(item, "a group", errors_);
    group.name = map.Text("name", false);
    group.ops = map.Texts("ops", true);
    map.Each("tiles", false, [&](const YamlNode& tile) { Tile(tile, group); });
    map.Finish();
    Once(item, group);
    plan_.groups.push_back(std::move(group));
  }

  void Window(const YamlNode& item) {
    PlanGroup group;
    MapReader map(item, "a window", errors_);
    group.ops.push_back(map.Text("op", true));
    group.name = group.ops.front();
    map.Each("tiles", true, [&](const YamlNode& tile) { Tile(tile, group); });
    map.Finish();
    Once(item, group);
    plan_.groups.push_back(std::move(group));
  }

  void Once(const YamlNode& item, const PlanGroup& group) {
    for (const std::string& op : group.ops) {
      if (op.empty()) continue;
      if (std::find(seen_.begin(), seen_.end(), op) != seen_.end()) {
        errors_.push_back(ErrorAtNode(item.at, fmt::format("op '{}' is in two groups", op)));
      }
      seen_.push_back(op);
    }
  }

  void Tile(const YamlNode& item, PlanGroup& group) {
    PlanTile tile;
    MapReader map(item, "a tile", errors_);
    tile.value = map.Text("value", true);
    std::int64_t dimension = map.Integer("dimension", true);
    tile.length = map.Integer("length", true);
    if (const YamlNode* at = item.Find("dimension"); at != nullptr && (dimension < 0 || dimension >= kMostDimensions)) {
      errors_.push_back(ErrorAtNode(at->at, fmt::format("'dimension' must be from 0 to {}", kMostDimensions - 1)));
    }
    if (const YamlNode* at = item.Find("length"); at != nullptr && tile.length < 1) {
      errors_.push_back(ErrorAtNode(at->at, "'length' must be at least 1"));
    }
    tile.dimension = static_cast<int>(std::clamp<std::int64_t>(dimension, 0, kMostDimensions - 1));
    map.Finish();
    group.tiles.push_back(std::move(tile));
  }

  PlanConfig& plan_;
  Diagnostics& errors_;
  std::vector<std::string> seen_;
};

}  // namespace

const std::vector<std::string>& PlanBases() {
  static const std::vector<std::string> bases = {"as-compiled", "unfused", "resident", "streamed"};
  return bases;
}

Result<PlanConfig> ReadPlan(const std::string& text, const std::string& file) {
  const auto source = std::make_shared<YamlSource>(YamlSource{file, text});
  PlanConfig plan;
  plan.file = file;
  Diagnostics errors;
  const std::optional<YamlNode> tree = ParseYaml(source, 0, errors);
  if (tree) {
    Reader(plan, errors).Read(*tree);
  } else if (errors.empty()) {
    errors.push_back(ErrorAtNode({source, 0}, "the file holds no plan", fmt::format("begin with 'schema: {}'", kSchema)));
  }
  if (!errors.empty()) return errors;
  return plan;
}

Result<PlanConfig> LoadPlan(const std::string& path) {
  Result<std::string> text = ReadFile(path);
  if (!text.ok()) return text.errors();
  return ReadPlan(*text, path);
}

}  // namespace spillway::config
