// SPDX-License-Identifier: Apache-2.0
#include "sim/cli/program_view.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <tuple>

#include "sim/engine/vmem.h"
#include "sim/output/summary_json.h"
#include "sim/output/table.h"

namespace spillway::cli {
namespace {

using Json = nlohmann::ordered_json;
using plan::Action;
using plan::Direction;
using plan::Item;
using plan::Transfer;

const char* DirectionName(Direction direction) {
  switch (direction) {
    case Direction::kHbmToVmem: return "hbm_to_vmem";
    case Direction::kVmemToHbm: return "vmem_to_hbm";
    case Direction::kHbmToHbm: return "hbm_to_hbm";
    case Direction::kVmemToVmem: return "vmem_to_vmem";
  }
  return "";
}

const char* SpaceName(plan::Space space) {
  switch (space) {
    case plan::Space::kHbm: return "hbm";
    case plan::Space::kVmem: return "vmem";
    case plan::Space::kSmem: return "smem";
    case plan::Space::kOther: break;
  }
  return "other";
}

const char* SourceName(plan::ComputeSource source) {
  switch (source) {
    case plan::ComputeSource::kBundles: return "bundles";
    case plan::ComputeSource::kModel: return "model";
    case plan::ComputeSource::kHint: return "hint";
    case plan::ComputeSource::kNone: break;
  }
  return "none";
}

/// Transfers that differ in their addresses only.
struct TransferGroup {
  Transfer example;
  std::int64_t count = 0;
};

/// One execution of an item added up.
struct Totals {
  std::int64_t steps = 0, dma_count = 0;
  Bytes read_bytes = 0, write_bytes = 0;
  Cycles compute_cycles = 0;
  std::vector<TransferGroup> groups;  // in the order of their first appearance

  void Add(const Transfer& transfer) {
    ++dma_count;
    const bool reads =
        transfer.direction == Direction::kHbmToVmem || transfer.direction == Direction::kHbmToHbm;
    const bool writes =
        transfer.direction == Direction::kVmemToHbm || transfer.direction == Direction::kHbmToHbm;
    if (reads) read_bytes += transfer.bytes();
    if (writes) write_bytes += transfer.bytes();
    const auto key = [](const Transfer& t) {
      return std::tie(t.direction, t.buffer, t.chunk_bytes, t.chunks, t.stride, t.outer, t.outer_stride,
                      t.thread);
    };
    for (TransferGroup& group : groups) {
      if (key(group.example) == key(transfer)) {
        ++group.count;
        return;
      }
    }
    groups.push_back({transfer, 1});
  }
};

Totals TotalsOf(const Item& item) {
  Totals totals;
  for (const Transfer& transfer : item.transfers) totals.Add(transfer);
  if (!item.source) return totals;
  const std::unique_ptr<plan::ActionSource> source = item.source();
  Action action;
  while (source->Next(action)) {
    if (action.kind == Action::Kind::kStep) ++totals.steps;
    if (action.kind == Action::Kind::kCompute) totals.compute_cycles += action.cycles;
    if (action.kind == Action::Kind::kIssue) totals.Add(action.transfer);
  }
  return totals;
}

/// Calls `visit(item, executions)` for every item that is no loop, in schedule order.
template <class Visit>
void Walk(const std::vector<Item>& items, std::int64_t executions, const Visit& visit) {
  for (const Item& item : items) {
    if (item.kind == Item::Kind::kLoop) {
      Walk(item.body, executions * item.trips, visit);
    } else {
      visit(item, executions);
    }
  }
}

const plan::Op* OpOf(const plan::Program& program, const Item& item) {
  return item.op >= 0 ? &program.ops[static_cast<std::size_t>(item.op)] : nullptr;
}

std::string OpName(const plan::Program& program, int op) {
  return op >= 0 && static_cast<std::size_t>(op) < program.ops.size()
             ? program.ops[static_cast<std::size_t>(op)].name
             : "";
}

std::string BufferName(const plan::Program& program, int buffer) {
  return buffer >= 0 ? program.buffers[static_cast<std::size_t>(buffer)].name : "";
}

/// A table built row by row.
class Table {
 public:
  explicit Table(std::vector<output::Column> columns) : columns_(std::move(columns)) {}
  void Row(std::vector<std::string> cells) {
    for (std::size_t i = 0; i < cells.size(); ++i) columns_[i].cells.push_back(std::move(cells[i]));
  }
  std::string Text(const ViewStyle& style) {
    output::TableStyle table;
    table.width = style.width;
    table.unicode = style.unicode;
    table.indent = "";
    return output::RenderTable(std::move(columns_), table);
  }

 private:
  std::vector<output::Column> columns_;
};

output::Column TextColumn(std::string header, int priority = 0, bool flexible = false) {
  return {std::move(header), false, priority, flexible, {}, {}};
}
output::Column NumberColumn(std::string header, int priority = 0) {
  return {std::move(header), true, priority, false, {}, {}};
}

std::string Finish(const Json& json) {
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

Json TransferJson(const plan::Program& program, const TransferGroup& group) {
  const Transfer& t = group.example;
  return {{"direction", DirectionName(t.direction)},
          {"buffer", BufferName(program, t.buffer)},
          {"count", group.count},
          {"bytes", t.bytes()},
          {"chunk_bytes", t.chunk_bytes},
          {"chunks", t.chunks},
          {"stride", t.stride},
          {"outer", t.outer},
          {"outer_stride", t.outer_stride},
          {"first_address", t.address},
          {"thread", t.thread}};
}

std::string TransferText(const plan::Program& program, const TransferGroup& group) {
  const Transfer& t = group.example;
  std::string shape;
  if (t.chunks * t.outer > 1)
    shape = fmt::format(" ({} runs of {})", t.chunks * t.outer, FormatBytes(t.chunk_bytes));
  const std::string buffer = BufferName(program, t.buffer);
  return fmt::format("{} x {}{} {}{}{}", group.count, FormatBytes(t.bytes()), shape,
                     DirectionName(t.direction), buffer.empty() ? "" : " ", buffer);
}

/// The schedule as an indented text and as nested JSON.
class ProgramWriter {
 public:
  explicit ProgramWriter(const plan::Program& program) : program_(program) {}

  Json Items(const std::vector<Item>& items, int depth) {
    Json list = Json::array();
    for (const Item& item : items) list.push_back(One(item, depth));
    return list;
  }
  const std::string& text() const { return text_; }

 private:
  Json One(const Item& item, int depth) {
    const std::string indent(static_cast<std::size_t>(depth) * 2, ' ');
    const plan::Op* op = OpOf(program_, item);
    const std::string name = op == nullptr ? "" : op->name;
    if (item.kind == Item::Kind::kLoop) {
      text_ += fmt::format("{}loop {} x {}\n", indent, name, item.trips);
      return {{"kind", "loop"}, {"op", name}, {"trips", item.trips}, {"body", Items(item.body, depth + 1)}};
    }
    if (item.kind == Item::Kind::kDone) {
      text_ += fmt::format("{}wait for {}\n", indent, name);
      return {{"kind", "done"}, {"op", name}, {"token", item.token}};
    }
    const bool start = item.kind == Item::Kind::kStart;
    const Totals totals = TotalsOf(item);
    text_ += fmt::format("{}{} {}", indent, start ? "start" : "run", name);
    if (!start) {
      const std::string steps = totals.steps == 0 ? "" : fmt::format("{} steps, ", totals.steps);
      text_ += fmt::format(": {}{} cycles of compute ({})", steps, output::WithCommas(totals.compute_cycles),
                           op == nullptr ? "none" : SourceName(op->compute_source));
    }
    text_ += "\n";
    Json json = {{"kind", start ? "start" : "kernel"}, {"op", name}};
    if (start) {
      json["token"] = item.token;
    } else {
      json["steps"] = totals.steps;
      json["compute_cycles"] = totals.compute_cycles;
    }
    json["transfers"] = Json::array();
    for (const TransferGroup& group : totals.groups) {
      text_ += fmt::format("{}    {}\n", indent, TransferText(program_, group));
      json["transfers"].push_back(TransferJson(program_, group));
    }
    return json;
  }

  const plan::Program& program_;
  std::string text_;
};

std::string Head(const plan::Program& program) {
  return fmt::format("module {}, plan {}: {} ops, {} buffers, {} of HBM\n\n", program.module, program.plan,
                     program.ops.size(), program.buffers.size(), FormatBytes(program.hbm_allocated_bytes));
}

}  // namespace

View ViewOps(const plan::Program& program, const ViewStyle& style) {
  Table table({TextColumn("op", 0, true), TextColumn("kind", 2), TextColumn("class"),
               NumberColumn("times", 3), NumberColumn("steps", 1), NumberColumn("HBM read"),
               NumberColumn("HBM write"), NumberColumn("DMAs", 1), NumberColumn("compute cycles"),
               TextColumn("from", 2), NumberColumn("scoped VMEM", 2)});
  Json json = Json::array();
  Walk(program.items, 1, [&](const Item& item, std::int64_t executions) {
    const plan::Op* op = OpOf(program, item);
    if (op == nullptr || item.kind == Item::Kind::kDone) return;
    const Totals totals = TotalsOf(item);
    table.Row({op->name, op->kind, op->op_class, executions == 1 ? "" : fmt::format("{}", executions),
               totals.steps == 0 ? "" : fmt::format("{}", totals.steps),
               output::ShortBytes(totals.read_bytes), output::ShortBytes(totals.write_bytes),
               fmt::format("{}", totals.dma_count), output::WithCommas(totals.compute_cycles),
               SourceName(op->compute_source), output::ShortBytes(op->scoped_vmem)});
    json.push_back({{"name", op->name},
                    {"opcode", op->opcode},
                    {"kind", op->kind},
                    {"class", op->op_class},
                    {"op_name", op->op_name},
                    {"executions", executions},
                    {"steps", totals.steps},
                    {"hbm_read_bytes", totals.read_bytes},
                    {"hbm_write_bytes", totals.write_bytes},
                    {"dma_count", totals.dma_count},
                    {"compute_cycles", totals.compute_cycles},
                    {"compute_source", SourceName(op->compute_source)},
                    {"estimated_cycles", op->estimated_cycles},
                    {"scoped_vmem_bytes", op->scoped_vmem},
                    {"unmodelled", op->unmodelled},
                    {"why", op->why}});
  });
  return {Head(program) + table.Text(style), Finish(json)};
}

View ViewBuffers(const plan::Program& program, const ViewStyle& style) {
  Table table({TextColumn("buffer", 0, true), TextColumn("memory"), NumberColumn("allocated"),
               NumberColumn("logical", 1), NumberColumn("address", 1), TextColumn("first op", 2),
               TextColumn("last op", 2), TextColumn("shape", 3)});
  timeline::Summary summary;
  for (const plan::Buffer& buffer : program.buffers) {
    const std::string first = OpName(program, buffer.first_op), last = OpName(program, buffer.last_op);
    table.Row({buffer.name, SpaceName(buffer.space), FormatBytes(buffer.allocated_bytes),
               FormatBytes(buffer.logical_bytes), fmt::format("{:#x}", buffer.offset), first, last,
               buffer.shape});
    summary.buffers.push_back({buffer.name, buffer.shape, SpaceName(buffer.space), buffer.logical_bytes,
                               buffer.allocated_bytes, buffer.offset, first, last, buffer.exact_offset});
  }
  return {Head(program) + table.Text(style), output::BuffersJson(summary)};
}

View ViewProgram(const plan::Program& program, const ViewStyle&) {
  ProgramWriter writer(program);
  const Json items = writer.Items(program.items, 0);
  std::string text = Head(program) + writer.text();
  if (!program.notes.empty()) text += "\n";
  for (const std::string& note : program.notes) text += "note: " + note + "\n";
  return {
      text,
      Finish(
          {{"module", program.module}, {"plan", program.plan}, {"items", items}, {"notes", program.notes}})};
}

}  // namespace spillway::cli
