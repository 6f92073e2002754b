// SPDX-License-Identifier: Apache-2.0
#include "sim/cli/bundle_view.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "sim/llo/describe.h"
#include "sim/plan/bundle_source.h"

namespace spillway::cli {
namespace {

using Json = nlohmann::ordered_json;

const char* KindName(llo::Dma::Kind kind) {
  switch (kind) {
    case llo::Dma::Kind::kHbmToVmem: return "hbm_to_vmem";
    case llo::Dma::Kind::kVmemToHbm: return "vmem_to_hbm";
    case llo::Dma::Kind::kHbmToHbm: return "hbm_to_hbm";
    case llo::Dma::Kind::kVmemToVmem: return "vmem_to_vmem";
    case llo::Dma::Kind::kHbmToSmem: return "hbm_to_smem";
    case llo::Dma::Kind::kSmemToHbm: return "smem_to_hbm";
    case llo::Dma::Kind::kOther: break;
  }
  return "other";
}

Json ToJson(const llo::KernelDescription& description) {
  Json json = {{"file", description.file},       {"static_bundles", description.static_bundles},
               {"bundles", description.bundles}, {"cycles", description.cycles},
               {"loads", description.loads},     {"stores", description.stores}};
  json["loops"] = Json::array();
  for (const llo::LoopDescription& loop : description.loops) {
    json["loops"].push_back({{"begin", loop.begin},
                             {"end", loop.end},
                             {"depth", loop.depth},
                             {"entries", loop.entries},
                             {"iterations", loop.iterations},
                             {"bundles", loop.bundles}});
  }
  json["dmas"] = Json::array();
  for (const llo::DmaDescription& dma : description.dmas) {
    json["dmas"].push_back({{"bundle", dma.bundle},
                            {"line", dma.line},
                            {"loop", dma.loop},
                            {"thread", dma.thread},
                            {"direction", KindName(dma.kind)},
                            {"operand", dma.operand},
                            {"count", dma.count},
                            {"total_bytes", dma.total},
                            {"chunk_bytes", dma.chunk},
                            {"stride", dma.stride},
                            {"flags", dma.flags}});
  }
  json["waits"] = Json::array();
  for (const llo::WaitDescription& wait : description.waits) {
    json["waits"].push_back({{"bundle", wait.bundle},
                             {"line", wait.line},
                             {"loop", wait.loop},
                             {"count", wait.count},
                             {"bytes", wait.bytes},
                             {"flags", wait.flags}});
  }
  json["slots"] = Json::array();
  for (const llo::SlotUse& slot : description.slots) {
    json["slots"].push_back(
        {{"slot", slot.slot}, {"used", slot.used}, {"capacity", slot.capacity}, {"share", slot.share}});
  }
  json["notes"] = description.notes;
  return json;
}

}  // namespace

View ViewBundles(const plan::Program& program, const llo::Dump& dump, const config::ChipConfig& chip) {
  const llo::MachineOptions options = plan::MachineOptionsOf(chip);
  View view;
  Json json = Json::array();
  for (const plan::Op& op : program.ops) {
    if (dump.Resolve(op.name).empty()) continue;
    const Result<std::shared_ptr<const llo::Kernel>> kernel = dump.Load(op.name);
    if (!kernel.ok()) {
      const std::string reason = kernel.errors().front().message;
      view.text += fmt::format("{}: {}\n\n", op.name, reason);
      json.push_back({{"op", op.name}, {"error", reason}});
      continue;
    }
    const Result<llo::Utilization> use = dump.LoadUtilization(op.name, **kernel);
    const llo::KernelDescription description =
        llo::Describe(**kernel, options, use.ok() ? &use.value() : nullptr);
    view.text += op.name + "\n";
    for (const std::string& line : llo::DescriptionLines(description)) view.text += "  " + line + "\n";
    view.text += "\n";
    Json entry = {{"op", op.name}};
    entry.update(ToJson(description));
    json.push_back(std::move(entry));
  }
  if (!view.text.empty()) view.text.pop_back();
  view.json = json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
  return view;
}

}  // namespace spillway::cli
