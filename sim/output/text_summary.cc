// SPDX-License-Identifier: Apache-2.0
#include "sim/output/text_summary.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <map>

#include "sim/output/table.h"

namespace spillway::output {
namespace {

using timeline::OpSummary;
using timeline::Summary;

constexpr const char* kReset = "\x1b[0m";
constexpr const char* kBold = "\x1b[1m";
constexpr const char* kDim = "\x1b[2m";
constexpr const char* kRed = "\x1b[31m";
constexpr const char* kGreen = "\x1b[32m";
constexpr const char* kYellow = "\x1b[33m";
constexpr const char* kBlue = "\x1b[34m";

class Painter {
 public:
  explicit Painter(const TextOptions& options) : options_(options) {}
  std::string operator()(const char* color, std::string_view text) const {
    if (!options_.color || text.empty()) return std::string(text);
    return fmt::format("{}{}{}", color, text, kReset);
  }
  // "  label       text"
  std::string Line(std::string_view label, std::string_view text) const {
    return fmt::format("  {}{}\n", (*this)(kDim, fmt::format("{:<12}", label)), text);
  }
  const TextOptions& options() const { return options_; }

 private:
  const TextOptions& options_;
};

// Breaks `text` at spaces so that each line has at most `width` columns; later lines start with `indent`.
std::string Wrap(std::string_view text, std::size_t width, std::size_t indent) {
  std::string out;
  std::size_t column = 0;
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t end = std::min(text.find(' ', i), text.size());
    const std::string_view word = text.substr(i, end - i);
    const std::size_t needed = DisplayWidth(word);
    if (column > 0 && column + 1 + needed > width) {
      out += "\n" + std::string(indent, ' ');
      column = 0;
    } else if (column > 0) {
      out += ' ';
      ++column;
    }
    out += word;
    column += needed;
    i = end + 1;
  }
  return out;
}

std::string Bar(double share, bool unicode) {
  constexpr int kCells = 8;
  const double clamped = std::clamp(share, 0.0, 1.0);
  if (!unicode) return std::string(static_cast<std::size_t>(std::lround(clamped * kCells)), '#');
  static constexpr const char* kEighths[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
  const auto eighths = static_cast<int>(std::lround(clamped * kCells * 8));
  std::string bar;
  for (int i = 0; i < eighths / 8; ++i) bar += "█";
  return bar + kEighths[eighths % 8];
}

const char* BoundColor(const std::string& bound) {
  if (bound == "memory") return kBlue;
  if (bound == "compute") return kGreen;
  if (bound == "latency") return kYellow;
  return nullptr;
}

std::string Rate(double bytes_per_second) {
  if (bytes_per_second >= 1e12) return fmt::format("{:.3f} TB/s", bytes_per_second / 1e12);
  return fmt::format("{:.1f} GB/s", bytes_per_second / 1e9);
}

std::string ZeroBytes(Bytes bytes) { return bytes == 0 ? "0" : ShortBytes(bytes); }

std::string Head(const Summary& s, const Painter& paint) {
  const std::size_t width = paint.options().width;
  const bool unicode = paint.options().unicode;
  std::string title =
      fmt::format("{} on {}, plan {}", Elide(s.module.empty() ? "(module)" : s.module, width / 2, unicode),
                  Elide(s.chip, 24, unicode), Elide(s.plan, 32, unicode));
  std::string out = paint(kBold, title);
  const std::size_t used = DisplayWidth(title);
  if (!s.input.empty() && used + 12 < width) {
    const std::string input = Elide(s.input, width - used - 2, unicode);
    out += std::string(width - used - DisplayWidth(input), ' ') + paint(kDim, input);
  }
  out += "\n\n";
  if (!s.complete)
    out += paint.Line("stopped", paint(kRed, "interrupted or at a limit: figures cover what ran"));

  std::string time = paint(kBold, s.makespan_ps == 0 ? "0 ps" : ShortDuration(s.makespan_ps));
  if (s.cycles > 0) {
    time += fmt::format("   {} cycles", WithCommas(s.cycles));
    if (s.makespan_ps > 0) {
      time += fmt::format(" at {:.4g} MHz",
                          1e6 * static_cast<double>(s.cycles) / static_cast<double>(s.makespan_ps));
    }
  }
  out += paint.Line("makespan", time);

  const double span = static_cast<double>(s.makespan_ps);
  std::string hbm =
      fmt::format("read {}, written {}", ZeroBytes(s.hbm_read_bytes), ZeroBytes(s.hbm_write_bytes));
  if (s.hbm_bytes_per_second > 0) {
    hbm += fmt::format("   {}", Rate(s.hbm_bytes_per_second));
    if (s.hbm_peak_bytes_per_second > 0) {
      hbm +=
          fmt::format(" = {:.1f}% of the {} peak", 100 * s.hbm_bytes_per_second / s.hbm_peak_bytes_per_second,
                      Rate(s.hbm_peak_bytes_per_second));
    }
    if (span > 0) hbm += fmt::format(", busy {:.1f}%", 100 * static_cast<double>(s.hbm_busy_ps) / span);
  }
  out += paint.Line("HBM", hbm);

  std::string vmem = fmt::format("peak {}", ZeroBytes(s.vmem_peak_bytes));
  if (s.vmem_capacity_bytes > 0) {
    vmem += fmt::format(
        " of {} ({:.1f}%)", ShortBytes(s.vmem_capacity_bytes),
        100 * static_cast<double>(s.vmem_peak_bytes) / static_cast<double>(s.vmem_capacity_bytes));
  }
  if (!s.vmem_peak_at.empty()) vmem += " in " + Elide(s.vmem_peak_at, width / 3, unicode);
  if (s.vmem_buffers_bytes > 0) vmem += fmt::format(", buffers alone {}", ShortBytes(s.vmem_buffers_bytes));
  out += paint.Line("VMEM", vmem);
  if (s.hbm_allocated_bytes > 0) {
    out += paint.Line("allocated", fmt::format("{} in HBM", ShortBytes(s.hbm_allocated_bytes)));
  }
  return out;
}

// "model", or "bundles 12, model 3" where an input mixes them.
std::string ComputeSources(const Summary& s) {
  std::map<std::string, int> count;
  for (const OpSummary& op : s.ops) {
    if (!op.compute_source.empty() && op.compute_source != "none") ++count[op.compute_source];
  }
  std::string out;
  for (const auto& [source, n] : count) {
    if (!out.empty()) out += ", ";
    out += source;
    if (count.size() > 1) out += fmt::format(" ({} op{})", n, n == 1 ? "" : "s");
  }
  return out;
}

// "kLoop", or "kLoop/input" where what the fusion really is differs from the dump's attribute.
std::string KindOf(const OpSummary& op) {
  if (op.kind.empty()) return op.op_class.empty() ? op.opcode : op.op_class;
  std::string plain = op.kind.substr(op.kind[0] == 'k' ? 1 : 0);
  std::transform(plain.begin(), plain.end(), plain.begin(),
                 [](unsigned char ch) { return std::tolower(ch); });
  return op.op_class.empty() || op.op_class == plain ? op.kind : op.kind + "/" + op.op_class;
}

// What most of the waiting is for: "write 87%".
std::string MainStall(const timeline::StallTimes& t) {
  const std::pair<const char*, Picos> parts[] = {
      {"read", t.dma_read}, {"write", t.dma_write}, {"fill", t.fill}, {"drain", t.drain}, {"other", t.other}};
  const auto* largest = std::max_element(std::begin(parts), std::end(parts),
                                         [](const auto& a, const auto& b) { return a.second < b.second; });
  if (largest->second <= 0) return "";
  return fmt::format("{} {:.0f}%", largest->first,
                     100 * static_cast<double>(largest->second) / static_cast<double>(t.total()));
}

// Mean HBM rate of an op while it runs, against the chip's peak.
std::string ShareOfPeak(const Summary& s, const OpSummary& op) {
  // An asynchronous op returns before its bytes have moved: its rate would mean nothing.
  if (op.busy_ps <= 0 || s.hbm_peak_bytes_per_second <= 0 || op.op_class == "async") return "-";
  const double bytes = static_cast<double>(op.hbm_read_bytes) + static_cast<double>(op.hbm_write_bytes);
  if (bytes == 0) return "-";
  return fmt::format("{:.0f}%",
                     100 * bytes / (static_cast<double>(op.busy_ps) / 1e12) / s.hbm_peak_bytes_per_second);
}

std::string OpTable(const Summary& s, const std::vector<std::size_t>& rows, const Painter& paint) {
  const bool unicode = paint.options().unicode;
  enum {
    kOp,
    kKind,
    kRuns,
    kTime,
    kShare,
    kBar,
    kIn,
    kOut,
    kPeak,
    kCompute,
    kWait,
    kMostly,
    kRead,
    kWrite,
    kEnds,
    kOther,
    kBound,
    kSource,
    kBand,
    kWhere,
    kCount
  };
  std::vector<Column> c(kCount);
  const auto define = [&c](int i, const char* header, bool right, int priority) {
    c[static_cast<std::size_t>(i)].header = header;
    c[static_cast<std::size_t>(i)].right = right;
    c[static_cast<std::size_t>(i)].priority = priority;
  };
  define(kOp, "op", false, 0);
  define(kKind, "kind", false, 2);
  define(kRuns, "runs", true, 1);
  define(kTime, "time", true, 0);
  define(kShare, "share", true, 0);
  define(kBar, "", false, 5);
  define(kIn, "HBM in", true, 0);
  define(kOut, "HBM out", true, 0);
  define(kPeak, "of peak", true, 4);
  define(kCompute, "compute", true, 0);
  define(kWait, "waits", true, 1);
  define(kMostly, "for", false, 3);
  define(kRead, "read", true, 6);
  define(kWrite, "write", true, 6);
  define(kEnds, "fill+drain", true, 6);
  define(kOther, "other", true, 6);
  define(kBound, "bound", false, 0);
  define(kSource, "from", false, 7);
  define(kBand, "±", true, 8);
  define(kWhere, "in the program", false, 9);
  c[kOp].flexible = c[kWhere].flexible = true;
  if (!unicode) c[kBand].header = "+-";
  for (const std::size_t row : rows) {
    const OpSummary& op = s.ops[row];
    const std::string kind = KindOf(op);
    const double share = ShareOfMakespan(s, op);
    const std::string name = op.name.empty() ? "(unnamed)" : op.name;
    c[kOp].cells.push_back(op.unmodelled ? name + " *" : name);
    c[kOp].colors.push_back(op.unmodelled ? kYellow : nullptr);
    c[kKind].cells.push_back(Elide(kind, 18, unicode));
    c[kRuns].cells.push_back(op.executions == 1 ? "" : fmt::format("{}x", WithCommas(op.executions)));
    c[kTime].cells.push_back(ShortDuration(op.busy_ps));
    c[kShare].cells.push_back(Percent(share));
    c[kBar].cells.push_back(Bar(share, unicode));
    c[kBar].colors.push_back(BoundColor(op.bound));
    c[kIn].cells.push_back(ShortBytes(op.hbm_read_bytes));
    c[kOut].cells.push_back(ShortBytes(op.hbm_write_bytes));
    c[kPeak].cells.push_back(ShareOfPeak(s, op));
    c[kCompute].cells.push_back(ShortDuration(ComputeTime(s, op)));
    c[kWait].cells.push_back(ShortDuration(op.stall_ps.total()));
    c[kMostly].cells.push_back(MainStall(op.stall_ps));
    c[kRead].cells.push_back(ShortDuration(op.stall_ps.dma_read));
    c[kWrite].cells.push_back(ShortDuration(op.stall_ps.dma_write));
    c[kEnds].cells.push_back(ShortDuration(op.stall_ps.fill + op.stall_ps.drain));
    c[kOther].cells.push_back(ShortDuration(op.stall_ps.other));
    c[kBound].cells.push_back(op.bound);
    c[kBound].colors.push_back(BoundColor(op.bound));
    c[kSource].cells.push_back(op.compute_source == "none" ? "" : op.compute_source);
    c[kBand].cells.push_back(op.error_band > 0 ? fmt::format("{:.0f}%", 100 * op.error_band) : "");
    c[kWhere].cells.push_back(op.op_name);
    c[kWhere].colors.push_back(kDim);
  }
  TableStyle style;
  style.width = paint.options().width;
  style.color = paint.options().color;
  style.unicode = unicode;
  return RenderTable(std::move(c), style);
}

std::string Ops(const Summary& s, const Painter& paint) {
  if (s.ops.empty()) return "  no op takes time\n";
  const std::size_t limit = paint.options().max_ops;
  std::vector<std::size_t> rows;
  for (std::size_t i = 0; i < s.ops.size(); ++i) {
    // A wait for a copy that is long done takes no time: noise, unless everything is asked for.
    const OpSummary& op = s.ops[i];
    if (limit == 0 || op.busy_ps > 0 || op.hbm_read_bytes > 0 || op.hbm_write_bytes > 0) rows.push_back(i);
  }
  std::string out, tail;
  if (limit > 0 && rows.size() > limit) {
    std::stable_sort(rows.begin(), rows.end(),
                     [&s](std::size_t a, std::size_t b) { return s.ops[a].busy_ps > s.ops[b].busy_ps; });
    Picos rest = 0;
    Bytes read = 0, written = 0;
    for (std::size_t i = limit; i < rows.size(); ++i) {
      rest += s.ops[rows[i]].busy_ps;
      read += s.ops[rows[i]].hbm_read_bytes;
      written += s.ops[rows[i]].hbm_write_bytes;
    }
    OpSummary sum;
    sum.busy_ps = rest;
    const char* dots = paint.options().unicode ? "…" : "...";
    tail = fmt::format("  {} and {} more ops: {} ({}), HBM in {}, out {}\n", dots,
                       WithCommas(static_cast<std::int64_t>(rows.size() - limit)), ShortDuration(rest),
                       Percent(ShareOfMakespan(s, sum)), ZeroBytes(read), ZeroBytes(written));
    out = paint(kDim, fmt::format("  the {} longest of {} ops\n", limit,
                                  WithCommas(static_cast<std::int64_t>(rows.size()))));
    rows.resize(limit);
  }
  out += OpTable(s, rows, paint) + paint(kDim, tail);
  Picos busy = 0;
  for (const OpSummary& op : s.ops) busy += op.busy_ps;
  if (s.makespan_ps > 0 && static_cast<double>(busy) > 1.005 * static_cast<double>(s.makespan_ps)) {
    out += paint(kDim, "  asynchronous ops run beside others: shares add up to more than 100%\n");
  }
  return out;
}

std::string Unmodelled(const Summary& s, const Painter& paint) {
  if (s.unmodelled_ops.empty()) return "";
  std::map<std::string, std::string> why;
  for (const OpSummary& op : s.ops) {
    if (op.unmodelled) why[op.name] = op.why;
  }
  std::vector<std::string> reasons;  // in order of appearance
  std::map<std::string, std::vector<std::string>> by_reason;
  for (const std::string& name : s.unmodelled_ops) {
    const auto found = why.find(name);
    const std::string reason = found == why.end() || found->second.empty() ? "no model" : found->second;
    if (by_reason[reason].empty()) reasons.push_back(reason);
    by_reason[reason].push_back(name);
  }
  std::string out = paint(
      kYellow, fmt::format("  * unmodelled: {} op{}, {} of the time\n", s.unmodelled_ops.size(),
                           s.unmodelled_ops.size() == 1 ? "" : "s",
                           s.unmodelled_share_of_time > 0 ? Percent(s.unmodelled_share_of_time) : "0%"));
  const std::size_t width = std::max<std::size_t>(paint.options().width, 40) - 4;
  constexpr std::size_t kNames = 4;
  for (const std::string& reason : reasons) {
    const auto& names = by_reason[reason];
    std::string line;
    for (std::size_t i = 0; i < names.size() && i < kNames; ++i) {
      line += (i > 0 ? ", " : "") + Elide(names[i], 32, paint.options().unicode);
    }
    if (names.size() > kNames) line += fmt::format(" and {} more", names.size() - kNames);
    out += "    " + Wrap(line + ": " + Elide(reason, 400, paint.options().unicode), width, 6) + "\n";
  }
  return out;
}

std::string Notes(const Summary& s, const Painter& paint) {
  std::string out;
  const std::size_t width = std::max<std::size_t>(paint.options().width, 40) - 10;
  for (const std::string& note : s.notes) {
    out += "  " + paint(kDim, "note: ") + Wrap(Elide(note, 1000, paint.options().unicode), width, 8) + "\n";
  }
  return out;
}

}  // namespace

Picos ComputeTime(const Summary& summary, const OpSummary& op) {
  if (summary.cycles > 0 && summary.makespan_ps > 0) {
    const double cycle = static_cast<double>(summary.makespan_ps) / static_cast<double>(summary.cycles);
    return static_cast<Picos>(std::llround(static_cast<double>(op.compute_cycles) * cycle));
  }
  return std::max<Picos>(0, op.busy_ps - op.stall_ps.total());
}

double ShareOfMakespan(const Summary& summary, const OpSummary& op) {
  if (summary.makespan_ps <= 0) return 0;
  return static_cast<double>(op.busy_ps) / static_cast<double>(summary.makespan_ps);
}

std::string TextSummary(const Summary& summary, const TextOptions& options) {
  const Painter paint(options);
  std::string out = Head(summary, paint);
  const std::string sources = ComputeSources(summary);
  if (!sources.empty()) out += paint.Line("compute", "cycles from " + sources);
  if (summary.recalled_share_of_time > 0) {
    out += paint.Line("recalled", Percent(summary.recalled_share_of_time) + " of the time, of kernels like ones replayed before");
  }
  out += "\n" + Ops(summary, paint);
  const std::string unmodelled = Unmodelled(summary, paint);
  const std::string notes = Notes(summary, paint);
  if (!unmodelled.empty()) out += "\n" + unmodelled;
  if (!notes.empty()) out += "\n" + notes;
  return out;
}

}  // namespace spillway::output
