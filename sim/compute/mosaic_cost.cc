// SPDX-License-Identifier: Apache-2.0
#include "sim/compute/mosaic_cost.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <set>
#include <vector>

#include "sim/compute/mosaic_schedule.h"
#include "sim/hlo/mosaic_body.h"

namespace spillway::compute {
namespace {

using hlo::MlirAttribute;
using hlo::MlirOperation;
using hlo::MlirType;

constexpr double kLaneCount = 128, kSublaneCount = 8, kLoadBytes = 4096;

double Ceil(double a, double b) { return std::ceil(a / b); }

/// Rows of the slot tables by MLIR op, where they are plain elementwise arithmetic.
const std::map<std::string, std::string>& Elementwise() {
  static const std::map<std::string, std::string> kMap = {
      {"arith.addf", "add"},           {"arith.addi", "add"},            {"arith.subf", "subtract"},
      {"arith.subi", "subtract"},      {"arith.mulf", "multiply"},       {"arith.muli", "multiply"},
      {"arith.divf", "divide"},        {"arith.divsi", "divide"},        {"arith.divui", "divide"},
      {"arith.remf", "remainder"},     {"arith.remsi", "remainder"},     {"arith.remui", "remainder"},
      {"arith.maximumf", "maximum"},   {"arith.maxnumf", "maximum"},     {"arith.maxsi", "maximum"},
      {"arith.maxui", "maximum"},      {"arith.minimumf", "minimum"},    {"arith.minnumf", "minimum"},
      {"arith.minsi", "minimum"},      {"arith.minui", "minimum"},       {"arith.andi", "and"},
      {"arith.ori", "or"},             {"arith.xori", "xor"},            {"arith.shli", "shift-left"},
      {"arith.shrsi", "shift-right-arithmetic"}, {"arith.shrui", "shift-right-logical"},
      {"arith.negf", "negate"},        {"math.absf", "abs"},             {"math.absi", "abs"},
      {"math.exp", "exponential"},     {"math.exp2", "exponential"},     {"math.log", "log"},
      {"math.log2", "log"},            {"math.log1p", "log-plus-one"},   {"math.tanh", "tanh"},
      {"math.rsqrt", "rsqrt"},         {"math.sqrt", "sqrt"},            {"math.powf", "power"},
      {"math.erf", "erf"},             {"math.sin", "sine"},             {"math.cos", "cosine"},
      {"math.tan", "tan"},             {"math.floor", "floor"},          {"math.ceil", "ceil"},
      {"math.round", "round-nearest-afz"}, {"math.roundeven", "round-nearest-even"}, {"arith.select", "select"},
      {"tpu.reciprocal", "divide"}};
  return kMap;
}

/// Ops that cost nothing worth counting: scalars, views, hints, synchronisation.
bool IsFreeOp(const std::string& name) {
  static const std::set<std::string> kFree = {
      "func.return",  "scf.yield",        "arith.constant",          "arith.index_cast",        "memref.load",
      "memref.store", "memref.subview",   "memref.cast",             "memref.reshape",          "memref.dim",
      "memref.alloca", "tpu.memref_slice", "tpu.memref_squeeze",     "tpu.memref_reshape",      "tpu.memref_bitcast",
      "tpu.reinterpret_cast", "tpu.erase_memref_layout", "tpu.assume_layout", "tpu.assume_multiple", "tpu.trace_start",
      "tpu.trace_stop", "tpu.bitcast",    "arith.bitcast",           "vector.bitcast",          "tpu.bitcast_vreg",
      "tpu.enqueue_dma", "tpu.wait_dma",  "tpu.wait_dma2",           "tpu.sem_alloc",           "tpu.sem_signal",
      "tpu.sem_wait", "tpu.sem_barrier",  "tpu.get_barrier_semaphore", "tpu.sem_read",          "tpu.device_id",
      "tpu.yield",    "cf.assert",        "tpu.delay",               "vector.extract",          "tpu.log"};
  return kFree.count(name) != 0;
}

/// `[0, 1]` lists in the text of `#tpu.dot_dimension_numbers<…>`.
std::vector<std::vector<std::int64_t>> ListsIn(const std::string& text) {
  std::vector<std::vector<std::int64_t>> lists;
  const char* at = text.c_str();
  bool open = false;
  while (*at != '\0') {
    if (*at == '[') {
      lists.emplace_back();
      open = true;
      ++at;
    } else if (*at == ']') {
      open = false;
      ++at;
    } else if (open && *at >= '0' && *at <= '9') {
      char* end = nullptr;
      lists.back().push_back(std::strtoll(at, &end, 10));
      at = end;
    } else {
      ++at;
    }
  }
  return lists;
}

class Counter {
 public:
  Counter(const hlo::MosaicBody& body, double rows, double columns) : body_(body), rows_(rows), columns_(columns) {}

  MosaicWork Run() {
    NoteConstants(*body_.Main(), 0);
    MosaicSchedule schedule = ScheduleOf(body_);
    work_.steps = schedule.steps;
    work_.why = schedule.why;
    for (const ScheduledOp& op : schedule.operations) {
      for (int operand : op.operation->operands) users_[operand].push_back(op.operation);
    }
    for (const ScheduledOp& op : schedule.operations) {
      times_ = op.times;
      Count(*op.operation);
    }
    // A step that multiplies waits once until the array has filled and drained: bodies do not overlap.
    Add("step.mxu", matmul_times_);
    Add("step", schedule.steps);
    Add("kernel", 1);
    Add("step.stream", schedule.steps * static_cast<double>(body_.windows.size()));
    return std::move(work_);
  }

 private:
  const hlo::MlirModule& module() const { return body_.module; }

  void Add(const std::string& key, double count) {
    if (count > 0) work_.counts[key] += count;
  }
  void AddTimes(const std::string& key, double count) { Add(key, count * times_); }

  void Blame(const MlirOperation& op, double registers) {
    if (work_.why.empty()) work_.why = "no compute model of " + op.name;
    AddTimes("unknown", registers);
  }

  const MlirType* TypeOf(int value) const { return module().TypeOf(value); }
  const MlirType* ElementOf(const MlirType& type) const { return module().Type(type.element); }
  int BitsOf(const MlirType& type) const {
    const MlirType* element = ElementOf(type);
    return element != nullptr && element->bits > 0 ? element->bits : 32;
  }

  static double Length(const MlirType& type, std::size_t from_minor) {
    if (from_minor >= type.shape.size()) return 1;
    return std::max<double>(static_cast<double>(type.shape[type.shape.size() - 1 - from_minor]), 1);
  }
  static double Outer(const MlirType& type) {
    double outer = 1;
    for (std::size_t i = 2; i < type.shape.size(); ++i) outer *= Length(type, i);
    return outer;
  }
  /// Registers of 1024 elements; a vector has one row, or stands in sublanes if it came from a reduction
  /// across lanes: the same count.
  static double Registers(const MlirType& type) {
    if (type.shape.size() == 1) return Ceil(Length(type, 0), kLaneCount * kSublaneCount);
    return Outer(type) * Ceil(Length(type, 1), kSublaneCount) * Ceil(Length(type, 0), kLaneCount);
  }
  double MemoryRegisters(const MlirType& type) const {
    double bits = BitsOf(type), pack = std::max(32.0 / bits, 1.0);
    double rows = type.shape.size() == 1 ? 1 : Ceil(Length(type, 1), kSublaneCount * pack) * kSublaneCount * pack;
    return Outer(type) * rows * Ceil(Length(type, 0), kLaneCount) * kLaneCount * bits / 8 / kLoadBytes;
  }

  std::string ClassOf(const MlirType& type) const {
    const MlirType* element = ElementOf(type);
    if (element == nullptr) return "f32";
    if (element->kind == MlirType::Kind::kFloat) {
      return element->bits == 8 || element->bits == 4 ? "f8" : element->bits == 16 ? "bf16" : element->bits > 32 ? "x64" : "f32";
    }
    int bits = element->bits;
    return bits == 1 ? "pred" : bits <= 8 ? "i8" : bits <= 16 ? "i16" : bits > 32 ? "x64" : "i32";
  }

  void Count(const MlirOperation& op) {
    const std::string& name = op.name;
    if (IsFreeOp(name)) return;
    const MlirType* result = op.results.empty() ? nullptr : TypeOf(op.results[0]);
    bool vector = result != nullptr && result->kind == MlirType::Kind::kVector;
    if (name == "vector.load" || name == "tpu.load" || name == "tpu.vector_load" || name == "tpu.strided_load") return Load(op, result);
    if (name == "vector.store" || name == "tpu.store" || name == "tpu.vector_store" || name == "tpu.strided_store") return Store(op);
    if (!vector) {
      // Scalars run in slots of their own.
      if (name.rfind("arith.", 0) == 0 || name.rfind("math.", 0) == 0 || name.rfind("index.", 0) == 0) return;
      if (result != nullptr && result->kind != MlirType::Kind::kOther) return;
      return Blame(op, 0);
    }
    const MlirType* operand = op.operands.empty() ? nullptr : TypeOf(op.operands[0]);
    double registers = Registers(*result);
    auto plain = Elementwise().find(name);
    if (plain != Elementwise().end()) return Arithmetic(op, plain->second, *result);
    if (name == "arith.cmpf" || name == "arith.cmpi") {
      return AddTimes("compare." + ClassOf(operand != nullptr ? *operand : *result), registers);
    }
    if (IsConversion(name) && operand != nullptr) {
      std::string from = ClassOf(*operand), to = ClassOf(*result);
      if (from != to) AddTimes("convert." + from + "." + to, registers);
      return PassOn(op);
    }
    if (name == "tpu.matmul" || name == "vector.contract") return Matmul(op, *result);
    if (name == "vector.broadcast" || name == "tpu.broadcast_in_sublanes") return Broadcast(op, operand, *result);
    if (name == "vector.shape_cast" || name == "tpu.reshape") return ShapeCast(op, operand, *result);
    if ((name == "vector.multi_reduction" || name == "tpu.all_reduce" || name == "tpu.reduce_index") && operand != nullptr) {
      return Reduce(op, *operand);
    }
    if ((name == "tpu.transpose" || name == "vector.transpose") && operand != nullptr) return Transpose(op, *operand, *result);
    if (name == "tpu.iota" || name == "vector.step") return AddTimes("iota", registers);
    if (name == "tpu.concatenate") return Concatenate(op, *result);
    if (name == "tpu.repeat" && operand != nullptr) return Repeat(op, *operand, *result);
    if (name == "vector.extract_strided_slice") return Slice(op, *result);
    if (name == "tpu.rotate" || name == "tpu.dynamic_rotate") {
      std::int64_t dim = module().Integer(op, "dimension").value_or(0);
      bool lanes = dim == static_cast<std::int64_t>(result->shape.size()) - 1;
      return AddTimes(lanes ? "rotate.lanes" : "rotate.sublanes", registers);
    }
    Blame(op, registers);
  }

  static bool IsConversion(const std::string& name) {
    static const std::set<std::string> kSet = {"arith.extf",   "arith.truncf", "arith.extsi",  "arith.extui",  "arith.trunci",
                                               "arith.sitofp", "arith.uitofp", "arith.fptosi", "arith.fptoui", "tpu.ext",
                                               "tpu.trunc",    "tpu.sitofp",   "tpu.fptosi"};
    return kSet.count(name) != 0;
  }

  /// Values that are the same in all lanes (results of reductions across lanes) or in every element (splats).
  bool Same(int value) const { return same_lanes_.count(value) != 0; }
  void PassOn(const MlirOperation& op) {
    bool all = !op.operands.empty() && std::all_of(op.operands.begin(), op.operands.end(), [&](int v) {
      const MlirType* type = TypeOf(v);
      return Same(v) || splats_.count(v) != 0 || (type != nullptr && type->kind != MlirType::Kind::kVector);
    });
    if (all) same_lanes_.insert(op.results.begin(), op.results.end());
  }

  void Arithmetic(const MlirOperation& op, const std::string& row, const MlirType& result) {
    std::string type = ClassOf(result);
    if (type == "x64") return Blame(op, 2 * Registers(result));
    AddTimes(row + "." + type, Registers(result));
    PassOn(op);
  }

  void Load(const MlirOperation& op, const MlirType* result) {
    if (result == nullptr || result->kind != MlirType::Kind::kVector) return;
    // What only a matmul uses is read by the matmul itself (its rows of the table say so).
    if (!OnlyForMatmul(op.results[0], 0)) AddTimes("load." + std::to_string(BitsOf(*result)), MemoryRegisters(*result));
  }

  bool OnlyForMatmul(int value, int depth) const {
    auto it = users_.find(value);
    if (it == users_.end() || depth > 8) return false;
    return std::all_of(it->second.begin(), it->second.end(), [&](const MlirOperation* user) {
      if (user->name == "vector.shape_cast" && !user->results.empty()) return OnlyForMatmul(user->results[0], depth + 1);
      bool matmul = user->name == "tpu.matmul" || user->name == "vector.contract";
      return matmul && (user->operands.size() < 3 || user->operands[2] != value);
    });
  }

  void Store(const MlirOperation& op) {
    for (int operand : op.operands) {
      const MlirType* type = TypeOf(operand);
      if (type == nullptr || type->kind != MlirType::Kind::kVector) continue;
      AddTimes("store." + std::to_string(BitsOf(*type)), MemoryRegisters(*type));
      return;
    }
  }

  void Broadcast(const MlirOperation& op, const MlirType* from, const MlirType& to) {
    int source = op.operands.empty() ? -1 : op.operands[0];
    if (from == nullptr || from->kind != MlirType::Kind::kVector || splats_.count(source) != 0) {
      splats_.insert(op.results.begin(), op.results.end());
      return;
    }
    double registers = Registers(to);
    bool lanes = Length(*from, 0) < Length(to, 0), sublanes = Length(*from, 1) < Length(to, 1);
    // Across lanes nothing moves if a reduction has filled them all.
    if (lanes && Same(source)) lanes = false;
    if (lanes) {
      AddTimes("broadcast.lanes", registers / Ceil(Length(to, 0), kLaneCount) / (sublanes ? Ceil(Length(to, 1), kSublaneCount) : 1));
      if (!sublanes) AddTimes("broadcast.lanes.use", registers);
    } else if (sublanes) {
      AddTimes("broadcast.sublanes", registers / Ceil(Length(to, 1), kSublaneCount));
    }
    if (Same(source)) same_lanes_.insert(op.results.begin(), op.results.end());
  }

  void ShapeCast(const MlirOperation& op, const MlirType* from, const MlirType& to) {
    if (from == nullptr) return;
    PassOn(op);
    if (splats_.count(op.operands[0]) != 0) splats_.insert(op.results.begin(), op.results.end());
    bool same = Length(*from, 0) == Length(to, 0) && (Length(*from, 1) == Length(to, 1) || Outer(*from) == Outer(to));
    // What a reduction across lanes leaves is a column already, whatever its type says.
    if (same || Same(op.operands[0]) || splats_.count(op.operands[0]) != 0) return;
    bool rows = Length(*from, 0) == Length(to, 0) && std::fmod(std::min(Length(*from, 1), Length(to, 1)), kSublaneCount) == 0;
    if (!rows) AddTimes("reshape", std::max(Registers(*from), Registers(to)));
  }

  void Reduce(const MlirOperation& op, const MlirType& from) {
    work_.reduces = true;
    std::vector<std::int64_t> dims;
    if (const MlirAttribute* list = module().Find(op, "reduction_dims")) {
      dims = list->integers;
      for (int element : list->elements) {
        const MlirAttribute* one = module().Attribute(element);
        if (one != nullptr) dims.push_back(one->integer);
      }
    }
    if (auto dim = module().Integer(op, "dim")) dims.push_back(*dim);
    if (auto axis = module().Integer(op, "axis")) dims.push_back(*axis);
    auto rank = static_cast<std::int64_t>(from.shape.size());
    auto has = [&](std::int64_t d) { return std::find(dims.begin(), dims.end(), d) != dims.end(); };
    bool lanes = has(rank - 1), sublanes = rank > 1 && has(rank - 2);
    double registers = Registers(from), outer = 1;
    for (std::int64_t d = 0; d + 2 < rank; ++d) {
      if (has(d)) outer *= std::max<double>(static_cast<double>(from.shape[d]), 1);
    }
    bool index = op.name == "tpu.reduce_index";
    AddTimes(index ? "reduce.index" : "reduce." + ClassOf(from), registers);
    if (lanes && !sublanes) {
      AddTimes(ClassOf(from) == "bf16" ? "reduce.lanes.bf16" : "reduce.lanes", registers / Ceil(Length(from, 0), kLaneCount) / outer);
      same_lanes_.insert(op.results.begin(), op.results.end());
    }
    if (sublanes && !lanes) AddTimes("reduce.sublanes", registers / Ceil(Length(from, 1), kSublaneCount) / outer);
    if (lanes && sublanes) AddTimes("reduce.lanes", 1);
  }

  void Transpose(const MlirOperation& op, const MlirType& from, const MlirType& to) {
    const MlirAttribute* order = module().Find(op, "permutation");
    std::size_t rank = to.shape.size();
    double registers = std::max(Registers(from), Registers(to));
    std::string bits = std::to_string(std::max(BitsOf(to), 8));
    bool known = order != nullptr && order->integers.size() == rank && rank >= 2;
    bool lanes = known && order->integers[rank - 1] == static_cast<std::int64_t>(rank) - 1;
    bool sublanes = known && order->integers[rank - 2] == static_cast<std::int64_t>(rank) - 2;
    if (lanes && sublanes) return AddTimes("copy." + bits, registers);
    AddTimes((lanes ? "transpose.sublanes." : "transpose.") + bits, registers);
  }

  void Concatenate(const MlirOperation& op, const MlirType& to) {
    std::int64_t dim = module().Integer(op, "dimension").value_or(0), at = 0;
    auto rank = static_cast<std::int64_t>(to.shape.size());
    bool lanes = false, sublanes = false;
    for (int operand : op.operands) {
      const MlirType* type = TypeOf(operand);
      if (type == nullptr || dim < 0 || dim >= static_cast<std::int64_t>(type->shape.size())) break;
      lanes = lanes || (dim == rank - 1 && at % 128 != 0);
      sublanes = sublanes || (dim == rank - 2 && at % 8 != 0);
      at += type->shape[dim];
    }
    // Whole registers side by side only get other names.
    if (lanes) AddTimes("rotate.lanes", Registers(to));
    if (sublanes) AddTimes("rotate.sublanes", Registers(to));
    PassOn(op);
  }

  void Repeat(const MlirOperation& op, const MlirType& from, const MlirType& to) {
    auto rank = static_cast<std::int64_t>(to.shape.size());
    std::int64_t dim = module().Integer(op, "dimension").value_or(rank - 1);
    if (dim == rank - 1 && std::fmod(Length(from, 0), kLaneCount) != 0) AddTimes("rotate.lanes", Registers(to));
    if (dim == rank - 2 && std::fmod(Length(from, 1), kSublaneCount) != 0) AddTimes("rotate.sublanes", Registers(to));
    PassOn(op);
  }

  void Slice(const MlirOperation& op, const MlirType& to) {
    const MlirAttribute* offsets = module().Find(op, "offsets");
    if (offsets == nullptr) return Blame(op, Registers(to));
    std::vector<std::int64_t> starts = offsets->integers;
    for (int element : offsets->elements) {
      const MlirAttribute* one = module().Attribute(element);
      starts.push_back(one != nullptr ? one->integer : 0);
    }
    std::size_t rank = starts.size();
    if (rank >= 1 && starts[rank - 1] % 128 != 0) AddTimes("rotate.lanes", Registers(to));
    if (rank >= 2 && starts[rank - 2] % 8 != 0) AddTimes("rotate.sublanes", Registers(to));
    PassOn(op);
  }

  void Matmul(const MlirOperation& op, const MlirType& result) {
    const MlirType* left = op.operands.size() >= 2 ? TypeOf(op.operands[0]) : nullptr;
    const MlirType* right = op.operands.size() >= 2 ? TypeOf(op.operands[1]) : nullptr;
    const MlirAttribute* numbers = module().Find(op, "dimension_numbers");
    if (left == nullptr || right == nullptr || left->shape.size() < 2 || right->shape.size() < 2) return Blame(op, Registers(result));
    std::vector<std::vector<std::int64_t>> lists = ListsIn(numbers != nullptr ? numbers->text : "<[1], [0], [0], [1]>");
    auto product = [](const MlirType& type, const std::vector<std::int64_t>& dims) {
      double value = 1;
      for (std::int64_t d : dims) value *= d < static_cast<std::int64_t>(type.shape.size()) ? std::max<double>(static_cast<double>(type.shape[d]), 1) : 1;
      return value;
    };
    if (lists.size() < 4 || (op.name == "vector.contract" && numbers == nullptr)) return Blame(op, Registers(result));
    double batch = lists.size() > 5 ? product(*left, lists[5]) : 1;
    bool held_transposed = !lists[1].empty() && lists[1][0] == static_cast<std::int64_t>(right->shape.size()) - 1;
    bool streamed_transposed = !lists[0].empty() && lists[0][0] != static_cast<std::int64_t>(left->shape.size()) - 1;
    CountMatmul(op, *left, *right, batch, product(*left, lists[2]), product(*left, lists[0]), product(*right, lists[3]),
                held_transposed, streamed_transposed);
  }

  void CountMatmul(const MlirOperation& op, const MlirType& left, const MlirType& right, double batch, double rows,
                   double contraction, double lanes, bool held_transposed, bool streamed_transposed) {
    work_.matmul = true;
    std::string a = ClassOf(left), b = ClassOf(right), type = "bf16";
    double packed = 16, passes = 1;
    if ((a == "i8" && b == "i8") || (a == "f8" && b == "f8")) {
      type = a == "i8" ? "s8" : "f8e5m2";
      packed = 32;
    }
    const MlirAttribute* precision = module().Find(op, "precision");
    if (precision != nullptr && precision->text.find("fp32") != std::string::npos && (a == "f32" || b == "f32")) passes = 6;
    double deep = Ceil(contraction, rows_), wide = Ceil(lanes, columns_);
    double issues = batch * deep * wide * Ceil(rows, packed / 2) / 2 * passes;
    if (contraction <= rows_ / 2 && lanes <= columns_ / 2) issues /= 2;
    AddTimes("matmul." + type, issues);
    matmul_times_ = std::max(matmul_times_, times_);
    double pushes = held_transposed ? Ceil(lanes, packed) * Ceil(contraction, kLaneCount)
                                    : Ceil(contraction, packed) * Ceil(lanes, kLaneCount) * kLaneCount / columns_;
    AddTimes(held_transposed ? "push.transposed" : "push", pushes * batch * passes);
    double out = batch * Ceil(rows, kSublaneCount) * Ceil(lanes, kLaneCount);
    AddTimes("pop.result", out);
    if (deep > 1) AddTimes("pop.partial", out * (deep - 1) * passes);
    double streamed = batch * Ceil(rows, kSublaneCount) * Ceil(contraction, kLaneCount);
    double held = batch * Ceil(contraction, kSublaneCount) * Ceil(lanes, kLaneCount);
    if (streamed_transposed) AddTimes("stream.transposed", streamed);
    if (a != "bf16" && type == "bf16") AddTimes("mxu.convert." + a, streamed * passes);
    if (b != "bf16" && type == "bf16") AddTimes("mxu.convert." + b, held * passes);
    if (op.operands.size() > 2 && splats_.count(op.operands[2]) == 0) AddTimes("add.f32", out);
  }

  /// Vectors of one value: what is added to them, or spread from them, costs nothing more.
  void NoteConstants(const MlirOperation& op, int depth) {
    if (depth > 64) return;
    if (op.name == "arith.constant") splats_.insert(op.results.begin(), op.results.end());
    for (const hlo::MlirRegion& region : op.regions) {
      for (const hlo::MlirBlock& block : region) {
        for (const MlirOperation& inner : block.operations) NoteConstants(inner, depth + 1);
      }
    }
  }

  const hlo::MosaicBody& body_;
  double rows_, columns_, times_ = 1, matmul_times_ = 0;
  MosaicWork work_;
  std::map<int, std::vector<const MlirOperation*>> users_;
  std::set<int> same_lanes_, splats_;
};

}  // namespace

std::optional<MosaicWork> MosaicWorkOf(const hlo::Instruction& kernel, double array_rows, double array_columns) {
  auto body = hlo::MosaicBodyOf(kernel);
  if (!body || array_rows < 1 || array_columns < 1) return std::nullopt;
  return Counter(*body, array_rows, array_columns).Run();
}

}  // namespace spillway::compute
