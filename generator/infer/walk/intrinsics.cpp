#include "generator/infer/walk/intrinsics.h"

#include "clang/AST/DeclTemplate.h"
#include "generator/infer/state/unknowns.h"
#include "llvm/ADT/STLExtras.h"

namespace tilepost::inference {

using clang::dyn_cast;
using llvm::StringRef;

namespace {

bool is_one_of(StringRef name, std::initializer_list<StringRef> names) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// Whether it is a function of real numbers, such as ceil, ceilf or __builtin_ceilf, or a rounding
// to another type. Threads that give such a function the same numbers get the same result.
bool is_of_numbers(StringRef name) {
  constexpr StringRef kRoundings[] = {"__float2", "__double2", "__int2",
                                      "__uint2",  "__ll2",     "__ull2"};
  if (llvm::any_of(kRoundings, [&](StringRef start) { return name.starts_with(start); }))
    return true;
  name.consume_front("__builtin_");
  name.consume_front("__nv_");
  constexpr StringRef kNames[] = {"ceil",  "floor", "round",  "rint",   "nearbyint", "trunc",
                                  "fabs",  "fmin",  "fmax",   "fmod",   "sqrt",      "exp",
                                  "exp2",  "log",   "log2",   "log10",  "pow",       "lround",
                                  "lrint", "ldexp", "llrint", "llround"};
  return llvm::is_contained(kNames, name) ||
         (name.consume_back("f") && llvm::is_contained(kNames, name));
}

// The class whose member the call's function is, or that of its first argument, or "": a group may
// be waited for by group.sync() and by sync(group).
StringRef name_of_class(const clang::CallExpr* e, const clang::FunctionDecl* function) {
  const clang::CXXRecordDecl* record = nullptr;
  if (const auto* method = dyn_cast<clang::CXXMethodDecl>(function))
    record = method->getParent();
  else if (e->getNumArgs() > 0)
    record = e->getArg(0)->getType().getNonReferenceType()->getAsCXXRecordDecl();
  return record && record->getIdentifier() ? record->getName() : StringRef();
}

}  // namespace

bool Intrinsics::refuses(const clang::CallExpr* e, const clang::FunctionDecl* function) {
  if (!function->getIdentifier() && !dyn_cast<clang::CXXMethodDecl>(function)) return false;
  if (!origins_.is_foreign(function)) return false;
  const StringRef name = function->getIdentifier() ? function->getName() : "";
  const StringRef record = name_of_class(e, function);
  const Where where = e->getExprLoc();
  const char* mark = "mark the kernel instead: tilepost::tile, out_base and tile_done";
  if (is_one_of(name, {"cudaCGSynchronizeGrid", "cudaGridSync"}) || record == "grid_group" ||
      record == "multi_grid_group") {
    course_.complain(
        where, "all blocks of the grid wait for each other here, and blocks come in another order",
        where, "end the kernel here and launch another");
  } else if (is_one_of(name, {"cluster_arrive", "cluster_wait"}) || record == "cluster_group" ||
             name.starts_with("__cluster")) {
    course_.complain(
        where, "blocks of a cluster work together here, and each would be given a tile of its own",
        where, mark);
  } else if (name.starts_with("cuda") && function->isExternC()) {
    course_.complain(
        where, "'" + name.str() + "' is called in the kernel, and what it starts cannot be seen",
        where, "nothing of CUDA's runtime in the kernel");
  } else if (name.starts_with("surf") && name.contains("write")) {
    course_.complain(where, "'" + name.str() + "' stores into a surface, which is not the output",
                     where, "a kernel without marks stores its output and nothing else");
  } else if (is_one_of(name, {"__trap", "__brkpt", "exit", "abort", "__builtin_trap"})) {
    course_.complain(
        where, "'" + name.str() + "' ends the kernel here: a signal behind it would never be sent",
        where, "an error that is told by a value, not by an end of the kernel");
  } else {
    return false;
  }
  return true;
}

// A warp's store of a fragment by nvcuda::wmma, or its load of one.
void Intrinsics::move_matrix(const clang::CallExpr* e, bool stores) {
  const Where where = e->getExprLoc();
  const unsigned memory = stores ? 0 : 1;
  const Value place = walker_.eval(e->getArg(memory));
  const Value pitch = walker_.eval(e->getArg(2));
  walker_.address(e->getArg(1 - memory));
  for (unsigned i = 3; i < e->getNumArgs(); ++i) walker_.eval(e->getArg(i));
  const Type element = e->getArg(memory)->getType()->getPointeeType();
  const auto* fragment = clang::dyn_cast_or_null<clang::ClassTemplateSpecializationDecl>(
      e->getArg(1 - memory)->getType().getNonReferenceType()->getAsCXXRecordDecl());
  if (place.root != Root::output) {
    if (stores)
      storage_.store(place, {}, element, where);
    else
      storage_.follows_null(place, "reads through", where);
    return;
  }
  clang::Expr::EvalResult layout;
  const bool known =
      e->getNumArgs() == 4 && fragment && fragment->getTemplateArgs().size() > 2 &&
      fragment->getTemplateArgs()[1].getKind() == clang::TemplateArgument::Integral &&
      fragment->getTemplateArgs()[2].getKind() == clang::TemplateArgument::Integral &&
      e->getArg(3)->EvaluateAsInt(layout, parsed_.ast);
  if (!known) {
    course_.complain(where, "the shape or the layout of this fragment cannot be seen");
    return;
  }
  const size_t before = log_.number(stores);
  int64_t rows = fragment->getTemplateArgs()[1].getAsIntegral().getExtValue();
  int64_t columns = fragment->getTemplateArgs()[2].getAsIntegral().getExtValue();
  // mem_row_major is 0, mem_col_major is 1: then columns are contiguous, as rows are otherwise.
  if (layout.Val.getInt().getBoolValue()) std::swap(rows, columns);
  const int64_t size = types_.size_of(element);
  const bool by_warp = true;
  stores ? output_.store(place, columns * size, where, by_warp)
         : output_.read(place, columns * size, where, by_warp);
  if (log_.number(stores) == before) return;
  course_.need_loops_of(pitch.node);
  log_.add_rows(stores, rows,
                nodes_.binary(Op::multiply, pitch.node, nodes_.constant(size), kInt64));
}

bool Intrinsics::knows(const clang::CallExpr* e, const clang::FunctionDecl* function,
                       Value& result) {
  if (!function->getIdentifier() || !origins_.is_foreign(function)) return false;
  meetings_.note(e, function);
  const StringRef name = function->getName();
  const Where where = e->getExprLoc();
  const Type type = e->getType();
  const unsigned count = e->getNumArgs();
  const auto number = [&](NodeId node) {
    result = {Root::number, 0, node};
    return true;
  };
  static const std::map<StringRef, Symbol> registers = {
      {"__nvvm_read_ptx_sreg_tid_x", thread_x},  {"__nvvm_read_ptx_sreg_tid_y", thread_y},
      {"__nvvm_read_ptx_sreg_tid_z", thread_z},  {"__nvvm_read_ptx_sreg_ctaid_x", block_x},
      {"__nvvm_read_ptx_sreg_ctaid_y", block_y}, {"__nvvm_read_ptx_sreg_ctaid_z", block_z}};
  if (const auto found = registers.find(name); found != registers.end()) {
    return number(nodes_.symbol(found->second));
  }
  if (name.starts_with("__nvvm_read_ptx_sreg_ntid_")) {
    return number(nodes_.constant(launch_.threads[name.back() - 'x']));
  }
  if (name.starts_with("__nvvm_read_ptx_sreg_nctaid_")) {
    return number(nodes_.constant(launch_.grid[name.back() - 'x']));
  }
  if (is_one_of(name, {"min", "max", "umin", "umax", "llmin", "llmax", "ullmin", "ullmax"}) &&
      count == 2 && type->isIntegralOrEnumerationType() && !e->isGLValue()) {
    const Value first = walker_.eval(e->getArg(0)), second = walker_.eval(e->getArg(1));
    if (first.root != Root::number || second.root != Root::number) {
      storage_.note_number_of_output(first.root == Root::output || second.root == Root::output);
      return number(unknown(nodes_, "an address", where));
    }
    // With an int and an unsigned argument both are converted to unsigned.
    const NodeId a = nodes_.convert(first.node, types_.int_type(type));
    const NodeId b = nodes_.convert(second.node, types_.int_type(type));
    const bool smaller = name.contains("min");
    const NodeId less = nodes_.binary(Op::less, a, b, types_.int_type(type));
    return number(nodes_.select(less, smaller ? a : b, smaller ? b : a));
  }
  const auto is_number = [](const clang::Expr* given) {
    return !given->isGLValue() && given->getType()->isArithmeticType();
  };
  if (is_of_numbers(name) && type->isArithmeticType() && llvm::all_of(e->arguments(), is_number)) {
    Alike same = Alike::block;
    for (const clang::Expr* given : e->arguments())
      same = std::min(same, nodes_.alike(walker_.eval(given).node));
    result = unknown_value(nodes_, type, "the result of '" + name.str() + "'", where, same);
    return true;
  }
  // Clang treats these functions of the standard library as builtin and gives them no body.
  if (is_one_of(name, {"move", "forward", "move_if_noexcept", "as_const"}) && count == 1 &&
      function->getBuiltinID() != 0) {
    result = walker_.address(e->getArg(0));
    return true;
  }
  if (is_one_of(name, {"__stcg", "__stcs", "__stwb", "__stwt"}) && count == 2) {
    const Value value = walker_.eval(e->getArg(1));
    storage_.store(walker_.eval(e->getArg(0)), value, e->getArg(0)->getType()->getPointeeType(),
                   where);
    return true;
  }
  if (is_one_of(name, {"__ldg", "__ldca", "__ldcg", "__ldcs", "__ldcv", "__ldlu"}) && count == 1) {
    const Value from = walker_.eval(e->getArg(0));
    if (name == "__ldg" && from.root == Root::output) output_.refuse_stale(where);
    result = storage_.load(from, type, where);
    return true;
  }
  if (name == "store_matrix_sync" && count >= 3) {
    move_matrix(e, true);
    return true;
  }
  if (name == "load_matrix_sync" && count >= 3) {
    move_matrix(e, false);
    return true;
  }
  if (is_one_of(name, {"__cvta_generic_to_global", "__builtin_assume_aligned", "__builtin_expect",
                       "__builtin_launder"})) {
    result = walker_.eval(e->getArg(0));
    for (unsigned i = 1; i < count; ++i) walker_.eval(e->getArg(i));
    return true;
  }
  if (name == "__shfl_sync" && count == 4 && launch_.threads[0] % 32 == 0) {
    walker_.eval(e->getArg(0));
    const Value value = walker_.eval(e->getArg(1)), lane = walker_.eval(e->getArg(2)),
                width = walker_.eval(e->getArg(3));
    const bool known = value.root == Root::number && type->isIntegralOrEnumerationType() &&
                       !nodes_[value.node].lost && nodes_.is(width.node, 32) &&
                       nodes_.is_constant(lane.node);
    if (known) nodes_.decide(lane.node);
    if (known) return number(nodes_.in_lane(value.node, nodes_[lane.node].value & 31));
    const bool same = nodes_.is(width.node, 32) && nodes_.alike(lane.node) >= Alike::warp;
    result = unknown_value(nodes_, type, "the result of '__shfl_sync'", where,
                           same ? Alike::warp : Alike::none);
    return true;
  }
  if (is_one_of(name, {"__any_sync", "__all_sync", "__ballot_sync"}) && count == 2) {
    const NodeId mask = meetings_.mask_of(e->getArg(0));
    walker_.eval(e->getArg(0));
    walker_.eval(e->getArg(1));
    const bool whole = nodes_.is(mask, UINT32_MAX);
    result = unknown_value(nodes_, type, "the result of '" + name.str() + "'", where,
                           whole ? Alike::warp : Alike::none);
    return true;
  }
  if (name.starts_with("atomic") && count >= 1) {
    const Value at = walker_.eval(e->getArg(0));
    for (unsigned i = 1; i < count; ++i) walker_.eval(e->getArg(i));
    if (at.root == Root::output) {
      course_.complain(where,
                       "'" + name.str() +
                           "' into the output: several blocks add to one tile (split-K), "
                           "so no one store finishes it",
                       where, "use the kernel without split-K");
    } else if (at.root != Root::shared && at.root != Root::object) {
      course_.complain(where,
                       "blocks depend on each other here ('" + name.str() + "' on " +
                           (at.root == Root::other ? "'" + storage_.name_of(at) + "'" : "memory") +
                           "), and they come in another order",
                       where, "a block must make its tile by itself");
    }
    if (at.root == Root::object) storage_.forget(at);
    result = unknown_value(nodes_, type, "the result of '" + name.str() + "'", where);
    return true;
  }
  if (is_one_of(name, {"init", "__mbarrier_init", "mbarrier_init"})) {
    log_.run_once(where, "a barrier is initialised here");
  }
  if (name == "__pipeline_memcpy_async") log_.begin_copies(where);
  if (name == "__pipeline_wait_prior" && count == 1) {
    const Value left = walker_.eval(e->getArg(0));
    if (nodes_.is(left.node, 0)) log_.end_copies();
  }
  return false;
}

}  // namespace tilepost::inference
